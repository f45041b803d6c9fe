import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { SessionStore } from '../src/core/store.ts'
import { createAgent } from '../src/create-agent.ts'
import { createSession } from '../src/sessions/session.ts'
import { call, type Step, scripted, tool } from '../src/testing/index.ts'
import type { Result } from './measure.ts'

const sessions = 500
const turns = 8
const goal = 100

/**
 * How late the event loop is, at the 99th percentile, while 500 agents run at once in one process, with a model that answers at
 * once. Each turn has a call with a result of 4 KB.
 */
export async function lagUnderLoad(name: string, store: SessionStore): Promise<Result> {
  const output = 'lorem ipsum dolor sit amet '.repeat(150)
  const look = tool('look', () => output)
  const steps: Step[] = [...Array.from({ length: turns }, (_, i) => [call(`c${i}`, 'look', { at: i })]), 'Done.']
  const run = async (i: number): Promise<void> => {
    const session = await createSession({ store, id: `s${i}` })
    await createAgent({ provider: scripted(...steps), session, tools: { look } }).run({ prompt: 'Go.' })
  }
  await run(-1) // loads and compiles
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  const begun = performance.now()
  await Promise.all(Array.from({ length: sessions }, (_, i) => run(i)))
  const ms = performance.now() - begun
  delays.disable()
  // A loop that never turned has no delays.
  const value = Math.round(delays.count === 0 ? ms : delays.percentile(99) / 1e6)
  const result = { name: `event loop with ${sessions} agents, ${name}, p99 in ms`, value, goal, ok: value <= goal }
  const worst = `at most ${Math.round(delays.max / 1e6)}, ${(ms / 1000).toFixed(1)} s in all`
  console.log(
    `${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${String(value).padStart(6)} (goal ${goal})  ${worst}`,
  )
  return result
}
