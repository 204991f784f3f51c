// Written by `lifeboat agents hook`: tells Lifeboat that a session ended. It never throws and never waits.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { parse } from "node:path";

const QUIET_MS = 5_000; // OpenClaw's own hooks go on writing notes of the session that ended
const LIMIT_MS = 600_000;

const waiting = new Map();
const running = new Set();

export default function handler(event) {
  try {
    const atOnce = event.type === "gateway";
    for (const order of concerned(event)) {
      if (atOnce) {
        begin(order);
      } else {
        wait(order);
      }
    }
  } catch {
    // OpenClaw goes on without it
  }
}

// Orders for the event's agent; for all of them where the event names none.
function concerned(event) {
  const { agents } = JSON.parse(readFileSync(new URL("./lifeboat.json", import.meta.url), "utf8"));
  const name = event.context?.agentId ?? /^agent:([^:]+):/.exec(event.sessionKey ?? "")?.[1];
  if (event.type === "gateway" || name === undefined) {
    return Object.values(agents);
  }
  return Object.hasOwn(agents, name) ? [agents[name]] : [];
}

function wait(order) {
  clearTimeout(waiting.get(order.agent));
  waiting.set(order.agent, setTimeout(() => begin(order), QUIET_MS).unref());
}

function begin(order) {
  clearTimeout(waiting.get(order.agent));
  waiting.delete(order.agent);
  if (running.has(order.agent)) {
    wait(order);
    return;
  }
  try {
    start(order);
  } catch {
    running.delete(order.agent);
  }
}

function start(order) {
  const [program, ...words] = order.program;
  const env = { ...process.env };
  delete env.LIFEBOAT_HOME;
  if (order.home) {
    env.LIFEBOAT_HOME = order.home;
  }
  const child = spawn(program, [...words, "sync", order.agent, "--unless-paused"], {
    cwd: parse(program).root,
    detached: true,
    env,
    stdio: "ignore",
    windowsHide: true,
  });
  running.add(order.agent);
  const limit = setTimeout(() => child.kill(), LIMIT_MS).unref();
  const ended = () => {
    clearTimeout(limit);
    running.delete(order.agent);
  };
  child.once("error", ended);
  child.once("exit", ended);
  child.unref();
}
