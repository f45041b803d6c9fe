import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { AuthorityOptions } from '../src/authority/authority.ts'
import { createAgent } from '../src/index.ts'
import { call, scripted } from '../src/testing/index.ts'
import { createShellTool } from '../src/tools/shell.ts'
import { compare, median, type Result } from './measure.ts'

/** How long nothing else has its turn while a hostile call is judged and asked about, against what we promise. */
export async function authorityGaps(): Promise<Result[]> {
  const rules = Array.from({ length: 10_000 }, (_, n) => `shell:program-${n} *`)
  const words = Array.from({ length: 150_000 }, (_, n) => `w${n}`).join(' ')
  const cases: readonly [name: string, authority: AuthorityOptions, command: string][] = [
    ['1 MB of words', {}, `echo ${words}`],
    ['4,000 nested substitutions', {}, '$('.repeat(4000)],
    ['10,000 rules and 1 MB', { deny: rules }, `echo ${words}`],
    ['a hostile pattern', { tools: { shell: { denyPatterns: ['(a+)+$'] } } }, `echo ${'a'.repeat(5000)}!`],
  ]
  const results: Result[] = []
  for (const [name, authority, command] of cases) {
    const gaps: number[] = []
    for (let round = 0; round < rounds; round++) gaps.push(await longestGap(authority, command))
    results.push(compare(`longest gap: ${name}, against 50 ms`, median(gaps), 50_000, 1, 'call'))
  }
  return results
}

const rounds = 5

/** In microseconds, from the start of the run, in which the rules are compiled, to its end. */
async function longestGap(authority: AuthorityOptions, command: string): Promise<number> {
  const provider = scripted([call('1', 'shell', { command })], 'Done.')
  const options: AuthorityOptions = { mode: 'ask', interactors: [() => false], ...authority }
  const agent = createAgent({ provider, tools: { shell: createShellTool() }, authority: options })
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  gaps.enable()
  await setTimeout(20)
  gaps.reset()
  await agent.run({ prompt: 'Go.' })
  await setTimeout(20) // the last one is noticed afterwards
  gaps.disable()
  await agent.destroy()
  return gaps.max / 1000
}
