"""Prose that reads like an agent's notes: the same words, in the same order, for the same seed.

Compressors and splitters behave on it as on real notes, which they do not on random letters or one repeated line.
"""

from __future__ import annotations

from random import Random

NOUNS = """
account address agenda agreement airport analysis answer apartment appointment archive article assistant audience
backlog backup balance bank battery bicycle bill birthday board book boundary branch breakfast bridge brief browser
budget bug build bus button calendar camera campaign car carpet certificate chair change channel chapter checklist
church client clinic clock cloud coast code coffee colleague column comment commit company computer concert condition
conference connection contract conversation copy corner cost course craft credit customer cycle dashboard database
deadline debate decision default delay delivery demand deposit design desk detail device diagram diary dinner dish
document door draft drawer driver edition editor effort email engine entry error essay estimate event evidence example
exercise expense experiment export factory family feature feedback ferry festival figure filter flight flour folder
forecast form framework garden gate glossary goal grant graph greenhouse grocery guest guide habit harbour header heater
hill history holiday hotel hour house idea import index insurance interface interview invoice island issue journal
journey kettle key kitchen label ladder lamp language laptop lease lecture lesson letter library licence light limit
list machine mailbox manager map margin market meal measure meeting member memo menu message method milestone minute
mirror model module month morning mountain museum network neighbour newsletter notebook notice number office opinion
option orchard order outline oven owner package page paint panel paper paragraph parcel parser partner passport patch
path pattern payment pension permit phone photo phrase picture pipeline plan platform poem policy portrait prescription
price principle printer priority problem process product profile project promise proposal protocol question queue
quote rain ratio reason receipt recipe record reference refund region release reminder rent repair reply report
request research reservation response result review rhythm river road roof room route routine rule sample scale
schedule school script season section sentence server service session shelf ship shop signal sketch sketchbook slide
soil source spreadsheet stage station step stock storm story strategy street studio study subject subscription summary
supplier survey symptom system table task teacher team template tenant test theme ticket timeline title tool topic
tour track train translation trend trip update valley value vendor version village visit voice volume wage wall
warehouse warranty water weather website week weekend window winter witness workshop yard year
""".split()

VERBS = """
accept adjust agree announce answer approve archive arrange ask assign attach avoid balance book borrow break bring
build buy call cancel carry change check choose clean clear close collect combine compare complete confirm connect
consider continue copy correct count cover cut decide defer deliver describe design discuss divide draft drop edit
enable end estimate explain explore export extend file fill find finish fix follow forget forward gather give group
handle hold improve include inform inspect install invite join keep label learn leave lend list load lock log look
lower maintain mark measure meet mention merge migrate move name need note notice offer open order organise outline
own pack paint pause pay plan plant postpone prefer prepare present print promise propose protect publish raise reach
read rebuild receive record reduce refer refuse remember remind remove rename renew repair repeat replace reply report
request reserve restore return review rewrite save schedule search send separate share shorten show sign simplify sort
split start stop store study suggest summarise support switch test thank track translate trim trust update use visit
wait warn watch welcome withdraw write
""".split()

ADJECTIVES = """
annual available blue bright broken calm careful cheap clean clear cold common complete correct daily dark deep
detailed different difficult digital direct distant double dry early east easy electric empty equal exact expensive
external fair familiar final firm flat formal free fresh full general gentle good green half hard heavy helpful high
honest important informal internal kind large last late light little local long loose loud low main major manual
missing modern monthly narrow new next north old open optional original outdated paper partial past patient plain
polite practical present previous private proper public quick quiet rare ready recent red regular remote round rough
safe second separate serious shared sharp short silent simple slow small soft solid south spare special stable steady
strange strict strong sudden sweet tall temporary thick thin third tidy tired total upper urgent useful usual vague
warm weekly west wet whole wide wooden wrong yearly yellow young
""".split()

NAMES = """
Ada Amir Anneke Beatriz Bela Chidi Clara Dario Edda Emeka Farah Felix Greta Hana Hugo Ines Ivo Jonas Kaito Lena Liam
Luca Mara Mei Milan Nadia Noor Oskar Paula Priya Quentin Rafael Rosa Samir Selma Sofia Tariq Thea Ulla Viktor Wanda
Xenia Yara Yusuf Zoe
""".split()

PLACES = """
Aarhus Antwerp Basel Bergen Bilbao Bologna Bristol Cork Delft Dresden Gdansk Ghent Girona Graz Kaunas Leeds Lisbon
Ljubljana Malmo Nantes Oulu Porto Riga Split Tartu Trieste Turku Uppsala Utrecht Vilnius
""".split()

_SENTENCES = (
    "{Name} wants the {adj} {noun} {pp} before the {noun2} in {place}.",
    "The {noun} for {name} is {adj}, so {verb} the {noun2} first and {verb2} the rest later.",
    "We agreed to {verb} the {adj} {noun} on the {nth}; {name} will {verb2} the {noun2}.",
    "{Name} asked why the {noun} still needs a {adj} {noun2}, and there was no good answer yet.",
    "Do not {verb} the {noun} without asking {name}: the {adj} {noun2} depends on it.",
    "After {number} tries the {noun} did {verb} the {noun2}, which is a {adj} sign.",
    "Remember that the {adj} {noun} lies with {name} in {place}, not with the {noun2}.",
    "It took {number} minutes to {verb} the {noun}; next time {verb2} the {adj} {noun2} beforehand.",
    "The {adj} {noun} costs {number} a month, and {name} thinks we could {verb} half of it.",
    "If the {noun} is {adj}, {verb} the {noun2}; otherwise {verb2} {name} and wait.",
    "{Name} prefers a {adj} {noun} over a long {noun2}, most of all on Mondays.",
    "There are {number} entries in the {noun}, the last one about the {adj} {noun2} from {place}.",
)


def sentence(random: Random) -> str:
    name = random.choice(NAMES)
    return random.choice(_SENTENCES).format(
        Name=name,
        name=name,
        place=random.choice(PLACES),
        noun=random.choice(NOUNS),
        noun2=random.choice(NOUNS),
        adj=random.choice(ADJECTIVES),
        verb=random.choice(VERBS),
        verb2=random.choice(VERBS),
        pp=random.choice(("ready", "finished", "sent", "reviewed", "paid", "settled")),
        nth=f"{random.randint(1, 28)}.",
        number=random.randint(2, 990),
    )


def paragraph(random: Random, length: int) -> str:
    """Return sentences of about `length` characters."""
    sentences = [sentence(random)]
    while sum(map(len, sentences)) < length:
        sentences.append(sentence(random))
    return " ".join(sentences)


def bullets(random: Random, count: int) -> str:
    return "\n".join(f"- {sentence(random)}" for _ in range(count))


def heading(random: Random) -> str:
    """Return three words beginning with a capital: `Quiet harbour contract`."""
    return f"{random.choice(ADJECTIVES)} {random.choice(NOUNS)} {random.choice(NOUNS)}".capitalize()


def slug(random: Random) -> str:
    return f"{random.choice(ADJECTIVES)}-{random.choice(NOUNS)}-{random.randint(1, 999)}"
