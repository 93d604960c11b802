// Makes one call with the generated client and prints how it ended: a case as JSON on each line of
// standard input, {"status", "code", ...} on each line of standard output.
import { createInterface } from "node:readline";
import { createClient } from "./client/client/index.js";
import { checkAsSite, getReadiness, getUsage, readPage, revokeKey } from "./client/sdk.gen.js";
import type { Page, Problem } from "./client/types.gen.js";

interface Case {
  call: "read" | "usage" | "revoke" | "check" | "ready" | "flood";
  url: string;
  key: string;
  repeat: string;
  base: string;
}

interface Outcome {
  status: number;
  code: string;
  problem: Problem | undefined;
  page: Page | undefined;
}

// ended is what the case's answer says, by the client's own types.
async function ended(answer: Promise<{ data?: unknown; error?: Problem; response?: Response }>): Promise<Outcome> {
  const { data, error, response } = await answer;
  return { status: response?.status ?? 0, code: error?.code ?? "", problem: error, page: data as Page | undefined };
}

async function run(c: Case): Promise<Outcome> {
  const client = createClient({ baseUrl: c.base, auth: () => c.key });
  switch (c.call) {
    case "read":
      return ended(readPage({ client, body: { url: c.url }, headers: c.repeat === "" ? {} : { "Idempotency-Key": c.repeat } }));
    case "usage":
      return ended(getUsage({ client }));
    case "revoke":
      return ended(revokeKey({ client, path: { id: c.url } }));
    case "ready":
      return ended(getReadiness({ client }));
    case "check":
      return ended(checkAsSite({ client, query: { url: c.url } }));
  }
  for (let i = 0; i < 30; i++) {
    const outcome = await ended(checkAsSite({ client, query: { url: c.url } }));
    if (outcome.status !== 200) {
      return outcome;
    }
  }
  throw new Error("never limited");
}

for await (const line of createInterface({ input: process.stdin })) {
  const outcome = await run(JSON.parse(line) as Case);
  process.stdout.write(JSON.stringify(outcome) + "\n");
}
