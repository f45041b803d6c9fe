import type { AuthorityOptions } from '../../src/authority/authority.ts'
import type { Decision } from '../../src/core/authority.ts'
import type { Confinement, ExecResult, ExecutionContext } from '../../src/core/execution.ts'
import { createAgent, createProcessContext } from '../../src/index.ts'
import { coding } from '../../src/presets/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { withEnv } from './harness.ts'

/** What became of a line that a model wanted to run by the shell tool. */
export interface Asked {
  readonly line: string
  /** A person was asked, and said no. */
  readonly wasAsked: boolean
  readonly decision: Decision | undefined
  /** What the execution context did for it; nothing if it did not run. */
  readonly runs: readonly Ran[]
}

/** A command as the execution context got it. */
export interface Ran {
  readonly command: string
  readonly confinement: Confinement | undefined
  readonly result: ExecResult | undefined
}

export interface AgentPlace {
  readonly cwd: string
  /** Of this process while the agent works. */
  readonly env: Readonly<Record<string, string>>
  readonly authority: AuthorityOptions
  readonly context?: Parameters<typeof createProcessContext>[0]
}

/** An agent whose model wants to run these lines, one after the other, and whose person says no to every question. */
export async function runByAgent(lines: readonly string[], place: AgentPlace): Promise<Asked[]> {
  const { cwd, env, authority, context } = place
  return withEnv(env, async () => {
    const runs: Ran[] = []
    const asked = new Set<number>()
    const decisions = new Map<string, Decision>()
    const firstRun: number[] = []
    const steps = lines.map((command, i) => () => {
      firstRun.push(runs.length)
      return [call(`c${i}`, 'shell', { command })]
    })
    const agent = createAgent({
      provider: scripted(...steps, 'Done.'),
      tools: { shell: coding.tools!.shell! },
      execution: recording(createProcessContext({ ...context, cwd }), runs),
      authority: {
        ...authority,
        interactors: [
          () => {
            asked.add(firstRun.length - 1)
            return false
          },
        ],
      },
      behavior: { maxTurns: lines.length + 1 },
    })
    agent.hooks.hook('tool:decision', ({ callId, decision }) => void decisions.set(callId, decision))
    try {
      await agent.run({ prompt: 'Go.' })
    } finally {
      await agent.destroy()
    }
    return lines.map((line, i) => ({
      line,
      wasAsked: asked.has(i),
      decision: decisions.get(`c${i}`),
      runs: runs.slice(firstRun[i], firstRun[i + 1]),
    }))
  })
}

/** The same context, which notes every command. */
function recording(context: ExecutionContext, runs: Ran[]): ExecutionContext {
  return {
    ...context,
    async exec(handle, command, options) {
      const ran: { -readonly [Key in keyof Ran]: Ran[Key] } = {
        command,
        confinement: options?.confinement,
        result: undefined,
      }
      runs.push(ran)
      const { onOutput } = options ?? {}
      if (!onOutput) return (ran.result = await context.exec(handle, command, options))
      let stdout = ''
      const note: typeof onOutput = (text, from) => {
        stdout += text
        onOutput(text, from)
      }
      const result = await context.exec(handle, command, { ...options, onOutput: note })
      ran.result = { ...result, stdout }
      return result
    },
  }
}
