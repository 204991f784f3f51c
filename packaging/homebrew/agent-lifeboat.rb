# A template: `make formula` fills it in at a release and puts the formula into dist/.
class AgentLifeboat < Formula
  include Language::Python::Virtualenv

  desc "Keeps AI agents alive: every change captured, every captured state restorable"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "pkgconf" => :build
  depends_on "rust" => :build
  depends_on "libsodium"
  depends_on "python@@PYTHON@"

@RESOURCES@
  def install
    ENV["SODIUM_INSTALL"] = "system"
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"lifeboat", "completion")
  end

  service do
    run [opt_libexec/"bin/python", "-P", "-m", "lifeboat_daemon.service", "--wait"]
    keep_alive successful_exit: false
    process_type :background
  end

  test do
    ENV["LIFEBOAT_HOME"] = testpath/"lifeboat"
    assert_match version.to_s, shell_output("#{bin}/lifeboat --version")
    system bin/"lifeboat", "demo"
  end
end
