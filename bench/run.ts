import { writeFileSync } from 'node:fs'
import { argumentsGoals, damagedArguments } from './arguments.ts'
import { authority } from './authority.ts'
import { browser } from './browser.ts'
import { checkpoints } from './checkpoints.ts'
import { cli } from './cli.ts'
import { disclosure } from './disclosure.ts'
import { edits, editsGoals } from './edits.ts'
import { events } from './events.ts'
import { loop } from './loop.ts'
import { mcp } from './mcp.ts'
import type { Result } from './measure.ts'
import { otel } from './otel.ts'
import { postgres } from './postgres.ts'
import { redaction } from './redaction.ts'
import { sandbox } from './sandbox.ts'
import { search } from './search.ts'
import { server } from './server.ts'
import { sessions } from './sessions.ts'
import { tools } from './tools.ts'
import { tui, tuiGoals } from './tui.ts'
import { view } from './view.ts'
import { web } from './web.ts'
import { wire } from './wire.ts'
import { workflow } from './workflow.ts'

/** Each part measures against a floor of its own, in this very process, and promises so many goals. */
const parts: Record<string, { readonly goals: number; readonly run: () => Promise<Result[]> }> = {
  loop: { goals: 5, run: loop },
  wire: { goals: 8, run: wire },
  tools: { goals: 3, run: tools },
  search: { goals: 10, run: search },
  sessions: { goals: 30, run: sessions },
  server: { goals: 5, run: server },
  postgres: { goals: 5, run: postgres },
  redaction: { goals: 1, run: redaction },
  authority: { goals: 8, run: authority },
  disclosure: { goals: 2, run: disclosure },
  mcp: { goals: 3, run: mcp },
  events: { goals: 6, run: events },
  view: { goals: 3, run: view },
  workflow: { goals: 3, run: workflow },
  checkpoints: { goals: 2, run: checkpoints },
  cli: { goals: 3, run: cli },
  tui: { goals: tuiGoals, run: tui },
  arguments: { goals: Object.keys(argumentsGoals).length, run: damagedArguments },
  edits: { goals: Object.keys(editsGoals).length, run: edits },
  sandbox: { goals: 5, run: sandbox },
  browser: { goals: 4, run: browser },
  web: { goals: 12, run: web },
  otel: { goals: 2, run: otel },
}

console.log(
  `Node ${process.version}. Ratios to a hand-written floor, median of interleaved rounds; smaller is better.\n`,
)
const only = process.argv[2]
const results: Result[] = []
let goals = 0
for (const [name, part] of Object.entries(parts)) {
  if (only !== undefined && only !== name) continue
  goals += part.goals
  console.log(`${name}:`)
  results.push(...(await part.run()))
}
if (only === undefined) writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
// A goal that was not measured is not met.
console.log(`\nbench: ${results.filter(({ ok }) => ok).length} of ${goals} goals met`)
