import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporary } from '../../test/temporary.ts'
import type { ExecOptions, ExecResult, ExecutionContext } from '../core/execution.ts'
import type { ToolDef } from '../core/tool.ts'
import { createAgent } from '../create-agent.ts'
import { createProcessContext } from '../execution/process.ts'
import { call, memoryExecution, scripted, texts, tool } from '../testing/index.ts'
import { createShellTool, type ShellInput, shell } from './shell.ts'

interface Ran {
  readonly text: string
  readonly isError: boolean
  readonly details: Record<string, unknown>
  readonly progress: readonly string[]
}

async function run(input: ShellInput, execution: ExecutionContext, shellTool: ToolDef = shell): Promise<Ran> {
  const provider = scripted([call('1', 'shell', { ...input })], 'fin')
  const agent = createAgent({ provider, execution, tools: { shell: shellTool } })
  let ran: Omit<Ran, 'progress'> | undefined
  const progress: string[] = []
  agent.hooks.hook('tool:progress', ({ text }) => void progress.push(text))
  agent.hooks.hook('tool:after', ({ result, isError, details }) => {
    ran = { text: result as string, isError, details: details as Record<string, unknown> }
  })
  try {
    await agent.run({ prompt: 'go' })
  } finally {
    await agent.destroy()
  }
  return { ...ran!, progress }
}

type Script = (options: ExecOptions, command: string) => Partial<ExecResult> | Promise<Partial<ExecResult>>

/** A context that tells its output as it comes, or whatever else a script does. */
function streaming(script: Script): ExecutionContext {
  return {
    ...memoryExecution({ exec: () => ({}) }),
    async exec(_, command, options = {}) {
      return { stdout: '', stderr: '', exitCode: 0, ...(await script(options, command)) }
    },
  }
}

const say = (...texts: string[]): ExecutionContext =>
  streaming(({ onOutput }) => {
    for (const text of texts) onOutput?.(text, 'stdout')
    return {}
  })

const withoutTime = (text: string): string => text.replace(/\d+ms\)/, 'Nms)')

describe('what the model reads', () => {
  test('W08 what of a failure the sandbox may have caused, and how to ask for more', async () => {
    const hint = '[sandbox: read-only] the workspace is read-only'
    const sandbox = { profile: 'read-only', hint } as const
    const { text, details } = await run(
      { command: 'touch a' },
      streaming(() => ({ exitCode: 1, sandbox })),
    )
    expect(text).toContain(`(${hint}. If it has to reach that, run it again with outside: true and say why`)
    expect(details).toMatchObject({ sandbox })
  })

  test('A137 stdout and stderr in the order in which they came, then exit code and time', async () => {
    const execution = streaming(({ onOutput }) => {
      onOutput?.('one\n', 'stdout')
      onOutput?.('two\n', 'stderr')
      onOutput?.('three', 'stdout')
      return { exitCode: 3 }
    })
    const { text, isError, details } = await run({ command: 'x' }, execution)
    expect(withoutTime(text)).toBe('one\ntwo\nthree\n(exit 3, Nms)')
    expect(isError).toBe(true)
    expect(details).toMatchObject({ exitCode: 3, durationMs: expect.any(Number) })
  })

  test('A137 without metadata, as an option or an input: stdout alone', async () => {
    const execution = streaming(({ onOutput }) => {
      onOutput?.('{"a":\r\n1}\n', 'stdout')
      onOutput?.('warning\n', 'stderr')
      return {}
    })
    expect((await run({ command: 'x', metadata: false }, execution)).text).toBe('{"a":\r\n1}\n')
    expect((await run({ command: 'x' }, execution, createShellTool({ metadata: false }))).text).toBe('{"a":\r\n1}\n')
    const back = await run({ command: 'x', metadata: true }, execution, createShellTool({ metadata: false }))
    expect(back.text).toContain('warning\n(exit 0')
  })

  test('without metadata a failure is still one', async () => {
    const failing = memoryExecution({ exec: () => ({ stdout: 'out', stderr: 'err', exitCode: 2 }) })
    expect(await run({ command: 'x', metadata: false }, failing)).toMatchObject({ text: 'out', isError: true })
  })

  test('a context that gives all output at the end is read too', async () => {
    const execution = memoryExecution({ exec: () => ({ stdout: 'out', stderr: 'err' }) })
    expect(withoutTime((await run({ command: 'x' }, execution)).text)).toBe('out\nerr\n(exit 0, Nms)')
  })

  test('no output is said', async () => {
    expect(withoutTime((await run({ command: 'true' }, say())).text)).toBe('(no output)\n(exit 0, Nms)')
  })

  test('A134 of long output the last 32768 bytes are kept, headed by how much is missing', async () => {
    const long = `${'x'.repeat(39_990)}\nthe end\n`
    const { text, details } = await run({ command: 'x' }, say(long.slice(0, 20_000), long.slice(20_000)))
    const dropped = long.length - 32_768
    expect(text.startsWith(`…(${dropped} bytes truncated from head)…\nxxx`)).toBe(true)
    expect(withoutTime(text).endsWith('xxx\nthe end\n(exit 0, Nms)')).toBe(true)
    expect(text.slice(text.indexOf('x'), text.lastIndexOf('(exit'))).toHaveLength(32_768)
    expect(details.droppedBytes).toBe(dropped)
  })

  test('A135 the cut never splits a character', async () => {
    const { text } = await run({ command: 'x' }, say(`a${'漢'.repeat(20_000)}`))
    expect(text).toMatch(/^…\(27235 bytes truncated from head\)…\n漢+\n\(exit 0, \d+ms\)$/)
  })

  test('A136 maxOutputBytes 0 keeps everything, any other number so much', async () => {
    const long = 'y'.repeat(100_000)
    const all = await run({ command: 'x' }, say(long), createShellTool({ maxOutputBytes: 0 }))
    expect(all.text.startsWith(`${long}\n(exit`)).toBe(true)
    expect((await run({ command: 'x', maxOutputBytes: 0 }, say(long))).text.startsWith(long)).toBe(true)
    const little = await run({ command: 'x', maxOutputBytes: 10 }, say(long))
    expect(withoutTime(little.text)).toBe('…(99990 bytes truncated from head)…\nyyyyyyyyyy\n(exit 0, Nms)')
  })

  test('death by a signal is told as that', async () => {
    const { text, isError } = await run(
      { command: 'x' },
      streaming(() => ({ exitCode: null, signal: 'SIGSEGV' })),
    )
    expect(withoutTime(text)).toBe('(no output)\n(killed by SIGSEGV, Nms)')
    expect(isError).toBe(true)
  })

  test('a time limit is told with what came until then, and what to do', async () => {
    const execution = streaming(({ onOutput, timeout }) => {
      onOutput?.(`limit ${timeout}\n`, 'stdout')
      return { exitCode: null, signal: 'SIGKILL', timedOut: true }
    })
    const { text, isError, details } = await run({ command: 'x', timeout: 5000 }, execution)
    expect(withoutTime(text)).toMatch(/^limit 5000\n\(timed out after 5000ms, Nms\)\n/)
    expect(text).toContain('ask for more with timeout, up to 600000; use background: true')
    expect([isError, details.timedOut]).toEqual([true, true])
  })

  test('the limit is 120 seconds unless the model asks for another, and never more than 600', async () => {
    const asked: unknown[] = []
    const execution = streaming(({ timeout }) => {
      asked.push(timeout)
      return {}
    })
    for (const timeout of [undefined, 1000, 5_000_000, 0])
      await run({ command: 'x', ...(timeout !== undefined && { timeout }) }, execution)
    await run({ command: 'x' }, execution, createShellTool({ timeoutMs: 7 }))
    await run({ command: 'x', timeout: 9000 }, execution, createShellTool({ maxTimeoutMs: 8000 }))
    await run({ command: 'x', timeout: 0 }, execution, createShellTool({ maxTimeoutMs: 0 }))
    expect(asked).toEqual([120_000, 1000, 600_000, 600_000, 7, 8000, 0])
  })

  test('a limit that was meant in seconds is explained', async () => {
    const timedOut = streaming(() => ({ exitCode: null, timedOut: true }))
    expect((await run({ command: 'x', timeout: 30 }, timedOut)).text).toContain('timeout is in milliseconds')
    expect((await run({ command: 'x', timeout: 3000 }, timedOut)).text).not.toContain('milliseconds')
  })

  test('what was left running is named', async () => {
    const execution = streaming(() => ({ leftRunning: ['sleep 60', 'node server.js\x1b[2J'] }))
    const { text, isError } = await run({ command: 'x' }, execution)
    expect(text).toContain('(still running when the command ended, now stopped: sleep 60; node server.js␛[2J; use back')
    expect(isError).toBe(false)
  })

  test('FT-12, UI-01 control characters are shown and do nothing, wherever the pieces are cut', async () => {
    const hostile = '\x1b[2J\x1b]52;c;AAAA\x07ok\0\x9b31m\tend\n'
    const { text, progress } = await run({ command: 'x' }, say(...hostile))
    expect(withoutTime(text)).toBe('␛[2J␛]52;c;AAAA\\x07ok\\x00\\x9b31m\tend\n(exit 0, Nms)')
    expect(progress.join('')).toBe('␛[2J␛]52;c;AAAA\\x07ok\\x00\\x9b31m\tend\n')
    const bare = await run({ command: 'x', metadata: false }, say(...hostile))
    expect(bare.text).toBe('␛[2J␛]52;c;AAAA\\x07ok\\x00\\x9b31m\tend\n')
  })

  test('of a progress bar the last state is left, and that is told', async () => {
    const states = Array.from({ length: 100 }, (_, i) => `\r${i + 1}%`)
    const { text } = await run({ command: 'x' }, say('start\n', ...states, '\ndone\r\n'))
    expect(withoutTime(text)).toBe('start\n100%\ndone\n(exit 0, Nms)\n(99 overwritten progress lines left out)')
  })
})

describe('failures', () => {
  test.each([
    [0, 'make', false],
    [1, 'make', true],
    [1, 'grep x a.txt', false],
    [1, 'cat a | rg x', false],
    [1, 'diff a b', false],
    [1, 'test -f a', false],
    [1, '[ -f a ]', false],
    [2, 'grep x a.txt', true],
  ])('A133 exit %i of %s: is an error %s', async (exitCode, command, isError) => {
    const execution = memoryExecution({ exec: () => ({ stdout: 'x', exitCode }) })
    expect((await run({ command }, execution)).isError).toBe(isError)
  })

  test('a context without a shell says so in clear words', async () => {
    const { text, isError } = await run({ command: 'ls' }, memoryExecution())
    expect(text).toContain('commands cannot be run here: the execution context "memory" has no shell')
    expect(isError).toBe(true)
  })

  test.each(['', '  \n ', 'ls\0'])('a command that is none is refused: %j', async (command) => {
    const execution = streaming(() => {
      throw new Error('it was run')
    })
    expect((await run({ command }, execution)).text).toMatch(
      /^Tool error: (ToolTerminal\/InputInvalid: )?the command (is empty|holds a NUL)/,
    )
  })

  test('what the context throws is told', async () => {
    const execution = streaming(() => {
      throw new Error('no such folder: nowhere')
    })
    expect(await run({ command: 'ls', cwd: 'nowhere' }, execution)).toMatchObject({
      text: 'Tool error: no such folder: nowhere',
      isError: true,
    })
  })
})

describe('beside other calls', () => {
  const start = async (...commands: string[]) => {
    const aborted: string[] = []
    const execution = streaming(async ({ signal }, command) => {
      if (command === 'cat missing') return { exitCode: 1, stderr: 'no such file' }
      if (command === 'grep nothing a') return { exitCode: 1 }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 50)
        signal?.addEventListener('abort', () => resolve(void aborted.push(command)))
      })
      return { stdout: 'slow' }
    })
    const calls = commands.map((command, i) => call(String(i), 'shell', { command }))
    const agent = createAgent({ provider: scripted(calls, 'fin'), execution, tools: { shell } })
    await agent.run({ prompt: 'go' })
    return { aborted, text: texts(agent.turns)[2] }
  }

  test('A131 a command that fails cancels its siblings', async () => {
    const { aborted, text } = await start('cat slow', 'cat missing')
    expect(text).toMatch(/^user: ←Cancelled: shell failed while this call ran\..* ←no such file/s)
    expect(aborted).toEqual(['cat slow'])
  })

  test('A133 a search that finds nothing does not', async () => {
    const { aborted, text } = await start('cat slow', 'grep nothing a')
    expect(text).toMatch(/^user: ←slow\n\(exit 0/)
    expect(aborted).toEqual([])
  })

  test('A131 a command that runs alone leaves others alone', async () => {
    const { text } = await start('make', 'cat missing', 'make')
    expect(text?.match(/slow\n\(exit 0/g)).toHaveLength(2)
  })

  test('A127 whether it may share depends on the command, and a background job never does', async () => {
    const mayShare = shell.isConcurrencySafe as (input: ShellInput) => Promise<boolean>
    expect(await mayShare({ command: 'ls' })).toBe(true)
    expect(await mayShare({ command: 'rm a' })).toBe(false)
    expect(await mayShare({ command: 'tail -f log', background: true })).toBe(false)
  })

  test('what it declares', () => {
    expect(shell).toMatchObject({ replay: 'opaque', effects: ['exec'], cancelsSiblings: true, timeoutMs: 0 })
    expect(shell.deriveApprovalKey?.({ command: 'git status', cwd: 'web' })).toBe('"web" git status')
    const offered = (one: ToolDef): string[] => Object.keys(one.spec.inputSchema.properties as object)
    expect(offered(shell)).toEqual(['command', 'timeout', 'cwd', 'background', 'outside', 'reason'])
    expect(offered(createShellTool({ background: false }))).toEqual(['command', 'timeout', 'cwd', 'outside', 'reason'])
  })
})

describe('while it runs', () => {
  test('progress is told in pieces of at most 4 KiB, the newest, and the last one at the end', async () => {
    const execution = streaming(async ({ onOutput }) => {
      onOutput?.('first\n', 'stdout')
      for (let i = 0; i < 10_000; i++) onOutput?.(`line ${i}\n`, i % 2 ? 'stdout' : 'stderr')
      return {}
    })
    const { progress } = await run({ command: 'x' }, execution)
    expect(progress).toHaveLength(2)
    expect(progress[0]).toBe('first\n')
    expect(Buffer.byteLength(progress[1]!)).toBe(4096)
    expect(progress[1]!.endsWith('line 9998\nline 9999\n')).toBe(true)
  })

  test('progress goes on while output comes', async () => {
    const execution = streaming(async ({ onOutput }) => {
      for (const text of ['one\n', 'two\n', 'three\n']) {
        onOutput?.(text, 'stdout')
        await new Promise((resolve) => setTimeout(resolve, 80))
      }
      return {}
    })
    expect((await run({ command: 'x' }, execution)).progress).toEqual(['one\n', 'two\n', 'three\n'])
  })

  test('an abort reaches the command, and later output is dropped', async () => {
    let late: ExecOptions['onOutput']
    let reason: unknown
    const execution = streaming(({ onOutput, signal }) => {
      late = onOutput
      onOutput?.('started\n', 'stdout')
      return new Promise((resolve) => {
        signal?.addEventListener('abort', () => {
          reason = signal.reason
          resolve({ exitCode: null })
        })
      })
    })
    const agent = createAgent({
      provider: scripted([call('1', 'shell', { command: 'x' })]),
      execution,
      tools: { shell },
    })
    const heard: string[] = []
    agent.hooks.hook('tool:progress', ({ text }) => {
      heard.push(text)
      setTimeout(() => agent.abort())
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow()
    late?.('more\n', 'stdout')
    expect(heard).toEqual(['started\n'])
    expect(String(reason)).toContain('abort() was called')
    expect(texts(agent.turns).at(-1)).toBe(
      'user: ←Aborted: the run was stopped while this call ran. Its effects may or may not have happened; check before repeating it.\nOutput so far:\nstarted\n',
    )
  })

  test('R02 a command that is stopped says that it had begun and what it printed, and one that never began says that', async () => {
    const folder = await temporary('aborted-')
    const execution = createProcessContext({ cwd: folder })
    const command = 'echo out; echo err >&2; touch effect; sleep 100'
    const provider = scripted([call('1', 'shell', { command }), call('2', 'shell', { command: 'touch never' })], 'Hm.')
    const agent = createAgent({ provider, execution, tools: { shell } })
    const stop = ({ text }: { text: string }) => {
      if (text.includes('err')) agent.abort()
    }
    await agent.run({ prompt: 'go', hooks: { 'tool:progress': stop } }).catch(() => {})
    await agent.run({ prompt: 'What happened?' })
    const [begun, unbegun] = provider.requests[1]!.messages[2]!.content
    expect(begun).toMatchObject({ output: expect.stringMatching(/stopped while this call ran.*out\nerr/s) })
    expect(unbegun).toMatchObject({ output: expect.stringContaining('before this call began; it did not run') })
    expect(existsSync(join(folder, 'never'))).toBe(false)
    await agent.destroy()
  })
})

describe.skipIf(process.platform === 'win32')('on this machine', () => {
  const here = createProcessContext()

  test('a command runs in the folder it is told', async () => {
    const { text } = await run({ command: 'pwd; echo oops >&2', cwd: '/' }, here)
    expect(withoutTime(text)).toBe('/\noops\n(exit 0, Nms)')
  })

  test('FT-12 bytes that are no text are shown as replacements', async () => {
    const { text } = await run({ command: String.raw`printf '\377\376\000\033[2J\n'` }, here)
    expect(withoutTime(text)).toBe('\ufffd\ufffd\\x00␛[2J\n(exit 0, Nms)')
  })

  test('FT-13 nothing is there to be read', async () => {
    expect(withoutTime((await run({ command: 'cat; read x || echo nothing' }, here)).text)).toBe(
      'nothing\n(exit 0, Nms)',
    )
  })

  test('FT-14 death by a signal is told exactly', async () => {
    expect(withoutTime((await run({ command: 'kill -9 $$' }, here)).text)).toBe('(no output)\n(killed by SIGKILL, Nms)')
    expect(withoutTime((await run({ command: 'exit 137' }, here)).text)).toBe('(no output)\n(exit 137, Nms)')
  })

  test('a folder that is not there is told', async () => {
    const { text, isError } = await run({ command: 'ls', cwd: '/no/such/folder' }, here)
    expect(text).toContain('/no/such/folder')
    expect(isError).toBe(true)
  })
})

test('another tool can use it for bare output', async () => {
  const version = tool('version', async (_, ctx) => {
    const { output } = await ctx.call('shell', { command: 'cat version', metadata: false })
    return `it is ${output}`
  })
  const provider = scripted([call('1', 'version')], 'fin')
  const agent = createAgent({ provider, execution: say('1.2.3'), tools: { shell, version } })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toBe('user: ←it is 1.2.3')
})
