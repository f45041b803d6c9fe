import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { ExecOptions, ExecResult, ExecutionContext } from '../../core/execution.ts'
import type { ToolDef } from '../../core/tool.ts'
import { createAgent } from '../../create-agent.ts'
import { call, fakeClock, memoryExecution, scripted, texts } from '../../testing/index.ts'
import type { PluginEntry, PluginServices } from '../plugin.ts'
import type { KnowledgeStore } from '../wiki/knowledge-store.ts'
import { createZxScriptPlugin, type ZxScriptOptions } from './zx-script.ts'

interface Ran extends ExecOptions {
  readonly command: string
}

type Answer = (ran: Ran) => Partial<ExecResult> | Promise<Partial<ExecResult>>

/** A runner that runs nothing: it notes what it was given. */
function runner(answer: Answer, hostPrograms = true): { execution: ExecutionContext; ran: Ran[] } {
  const ran: Ran[] = []
  const memory = memoryExecution({ exec: () => ({}) })
  const execution: ExecutionContext = {
    ...memory,
    capabilities: { ...memory.capabilities, hostPrograms },
    async exec(_, command, options = {}) {
      ran.push({ command, ...options })
      return { stdout: '', stderr: '', exitCode: 0, ...(await answer(ran.at(-1)!)) }
    },
  }
  return { execution, ran }
}

const wikis: KnowledgeStore = {
  workspaces: async () => [{ name: 'notes', folder: '/wikis/notes' }, { name: 'memory' }],
  open: () => Promise.reject(new Error('not needed')),
}

function zxTool({
  services,
  entry,
  options,
}: {
  services?: Partial<PluginServices>
  entry?: Partial<PluginEntry>
  options?: ZxScriptOptions
} = {}): ToolDef {
  return createZxScriptPlugin(options).tools!({
    config: {},
    entry: { id: '1', toolId: 'zx-script', ...entry },
    services: { agentId: 'a', clock: systemClock, knowledge: wikis, ...services },
  })[0]!
}

async function use(execution: ExecutionContext, input: object, tool = zxTool(), more = {}) {
  const provider = scripted([call('1', 'zx-script', { ...input })], 'fin')
  const agent = createAgent({ provider, execution, tools: { tool }, ...more })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run({ prompt: 'go' })
  return { told: texts(agent.turns)[2]!.replace('user: ←', '').replace(/\d+ms/g, 'Nms'), details }
}

const script = 'console.log(1)'

describe('a script', () => {
  test('D034 goes to the runner on its stdin, in the folder of the wiki, with its limit; its output and exit code come back', async () => {
    const { execution, ran } = runner(({ onOutput }) => {
      onOutput?.('one\n', 'stdout')
      onOutput?.('oops\n', 'stderr')
      return { exitCode: 3 }
    })
    const { told, details } = await use(execution, { script, workspaceName: 'notes', fileName: '../../etc/cron.mjs' })
    expect(ran).toMatchObject([{ input: script, cwd: '/wikis/notes', timeout: 30_000 }])
    expect(told).toBe('one\noops\n(exit 3, Nms)')
    expect(details).toMatchObject({ exitCode: 3, fileName: '../../etc/cron.mjs' })
  })

  test('neither its text nor its name is part of the command line', async () => {
    const { execution, ran } = runner(() => ({}))
    const hostile = `'; touch /tmp/x; '$(id)`
    await use(execution, { script: hostile, fileName: hostile })
    await use(execution, { script })
    expect(ran[0]!.command).toBe(ran[1]!.command)
    expect(ran[1]).not.toHaveProperty('cwd')
    expect(ran[1]!.command).toContain('zx')
  })

  test('that never ends is ended by the runner, with an error', async () => {
    const { execution } = runner(({ onOutput }) => {
      onOutput?.('tick\n', 'stdout')
      return { exitCode: null, timedOut: true }
    })
    expect((await use(execution, { script })).told).toBe(
      'tick\n(timed out after Nms, Nms)\n(it was stopped; the output is what came until then)',
    )
  })

  test('is abandoned if the runner does not keep its limit', async () => {
    const clock = fakeClock()
    let signal: AbortSignal | undefined
    const { execution } = runner((ran) => {
      signal = ran.signal
      void clock.advance(11_000)
      return new Promise(() => {})
    })
    const tool = zxTool({ entry: { timeoutMs: 1000 } })
    expect((await use(execution, { script }, tool, { clock })).told).toMatch(/^Tool error: /)
    expect(signal?.aborted).toBe(true)
  })

  test('that floods leaves the end of its output, and how much was dropped', async () => {
    const { execution } = runner(({ onOutput }) => {
      for (let i = 0; i < 100; i++) onOutput?.('y\n'.repeat(5000), 'stdout')
      return {}
    })
    const { told } = await use(execution, { script })
    expect(told).toMatch(/^…\(967232 bytes truncated from head\)…\n/)
    expect(told.length).toBeLessThan(33_000)
  })

  test('runs with the zx of the execution context if that is not this machine', async () => {
    const { execution, ran } = runner(() => ({}), false)
    await use(execution, { script })
    expect(ran[0]!.command).toContain('\nzx "$dir/script.mjs"')
    expect(ran[0]!.command).not.toContain(process.execPath)
  })

  test('E01 runs with the zx on PATH in a single executable, which would run itself again', async () => {
    const sea = vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ isSea: () => true } as never)
    try {
      const { execution, ran } = runner(() => ({}))
      await use(execution, { script })
      expect(ran[0]!.command).toContain('command -v zx')
      expect(ran[0]!.command).not.toContain(process.execPath)
    } finally {
      sea.mockRestore()
    }
  })

  test.each<[string, object, ZxScriptOptions, string]>([
    ['without zx', { script }, { findZx: () => undefined }, 'npm install zx'],
    [
      'in a wiki that is not there',
      { script, workspaceName: 'nots' },
      {},
      'no workspace "nots"; those with a folder are: notes',
    ],
    ['in a wiki without a folder', { script, workspaceName: 'memory' }, {}, 'lies in memory and has no folder'],
    ['that is empty', { script: ' ' }, {}, '"script" is empty'],
    ['that is huge', { script: 'x'.repeat(1_048_577) }, {}, '"script" has 1048577 bytes'],
  ])('%s is not run, and the model reads why', async (_, input, options, words) => {
    const { execution, ran } = runner(() => ({}))
    expect((await use(execution, input, zxTool({ options }))).told).toContain(words)
    expect(ran).toEqual([])
  })

  test('needs an execution context with a shell', async () => {
    expect((await use(memoryExecution(), { script })).told).toContain('the execution context "memory" has no shell')
  })
})

describe('permission', () => {
  const { defaultApproval } = createZxScriptPlugin()

  async function under(mode: 'plan' | 'ask' | 'yolo', answers: readonly unknown[], scripts: readonly string[]) {
    const { execution, ran } = runner(() => ({}))
    const asked: unknown[] = []
    const calls = scripts.map((script, i) => [call(String(i), 'zx-script', { script })])
    const agent = createAgent({
      provider: scripted(...calls, 'fin'),
      execution,
      tools: { tool: zxTool() },
      authority: {
        mode,
        ...(defaultApproval && { tools: defaultApproval }),
        interactors: [
          ({ payload }) => {
            asked.push(payload.approvalKey)
            return answers[asked.length - 1]
          },
        ],
      },
    })
    await agent.run({ prompt: 'go' })
    return { asked, ran: ran.map(({ input }) => input), told: texts(agent.turns)[2] }
  }

  test.each(['ask', 'yolo'] as const)(
    'D034 is needed in the mode %s, and a denied script does not run',
    async (mode) => {
      const { asked, ran } = await under(mode, [false, true], ['a', 'b'])
      expect(asked).toHaveLength(2)
      expect(ran).toEqual(['b'])
    },
  )

  test('is refused in the mode plan without a question', async () => {
    const { asked, ran, told } = await under('plan', [true], ['a'])
    expect([asked, ran]).toEqual([[], []])
    expect(told).toContain('the mode is plan')
  })

  test('granted for good covers exactly this script in this folder, under any name', async () => {
    const { asked, ran } = await under('ask', ['session', false], ['a', 'a', 'a '])
    expect(asked).toHaveLength(2)
    expect(ran).toEqual(['a', 'a'])
    const key = zxTool().deriveApprovalKey!
    expect(key({ script: 'a', fileName: 'x' })).toBe(key({ script: 'a' }))
    expect(key({ script: 'a', workspaceName: 'notes' })).not.toBe(key({ script: 'a' }))
  })
})
