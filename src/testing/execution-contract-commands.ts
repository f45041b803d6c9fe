import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { check, checkEqual } from './contract.ts'
import { type ExecutionCases, exitCodeOf, pause, run, waitForFile } from './execution-contract-kit.ts'

export const commandCases: ExecutionCases = {
  async 'a command gives stdout, stderr and exit code apart'(context) {
    const done = await run(context, `printf 'out ä\\n'; printf 'err' >&2; exit 3`)
    checkEqual(done, { stdout: 'out ä\n', stderr: 'err', exitCode: 3 }, 'the result')
    checkEqual(await run(context, 'true'), { stdout: '', stderr: '', exitCode: 0 }, 'a silent success')
  },

  async 'an unknown command is a result with an exit code, not an error'(context) {
    const { exitCode } = await run(context, 'there-is-no-such-command-here')
    checkEqual(exitCode, 127, 'the exit code')
  },

  async 'a command runs in the cwd of its handle, or in the one it is given'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'f.txt', 'outer')
    await context.writeFile(handle, 'sub/f.txt', 'inner')
    checkEqual((await run(context, 'cat f.txt', handle)).stdout, 'outer', 'in the cwd of the handle')
    const absolute = await run(context, 'cat f.txt', handle, { cwd: `${handle.cwd}/sub` })
    checkEqual(absolute.stdout, 'inner', 'in another cwd')
  },

  async 'a relative cwd is taken from that of the handle'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'sub/f.txt', 'inner')
    checkEqual((await run(context, 'cat f.txt', handle, { cwd: 'sub' })).stdout, 'inner', 'in a relative cwd')
  },

  async 'nothing runs in a folder that does not exist'(context) {
    const handle = await context.spawn()
    const exitCode = await exitCodeOf(context, context.exec(handle, 'touch ../ran; touch ran', { cwd: 'none' }))
    check(exitCode !== 0, 'it must fail')
    checkEqual(await context.listFiles(handle, '.'), [], 'what the command did')
  },

  async 'a command sees the environment it is given'(context) {
    const env = { CONTRACT_VALUE: `it's $HOME "ä"` }
    const { stdout } = await run(context, `printf '%s' "$CONTRACT_VALUE"`, undefined, { env })
    checkEqual(stdout, env.CONTRACT_VALUE, 'the variable')
    checkEqual((await run(context, `printf '%s' "$CONTRACT_VALUE"`)).stdout, '', 'without it')
  },

  async 'every command sees the environment that its handle was given'(context) {
    const handle = await context.spawn({ env: { CONTRACT_A: 'a', CONTRACT_B: 'b' } })
    const options = { env: { CONTRACT_B: 'own' } }
    const { stdout } = await run(context, `printf '%s' "$CONTRACT_A $CONTRACT_B"`, handle, options)
    checkEqual(stdout, 'a own', 'the variables of the handle and of the command')
  },

  async 'files and commands see the same file system'(context) {
    const handle = await context.spawn()
    await run(context, 'mkdir d && printf made > d/f.txt', handle)
    checkEqual(await context.readFile(handle, 'd/f.txt'), 'made', 'a file that a command wrote')
    checkEqual(await context.listFiles(handle, '.'), ['d/'], 'the list')
  },

  async 'commands of one handle may run at once'(context) {
    const handle = await context.spawn()
    const wait = 'n=0; while [ ! -s other ] && [ $n -lt 50 ]; do sleep 0.05; n=$((n+1)); done; cat other'
    const [waiting] = await Promise.all([run(context, wait, handle), run(context, 'printf met > other', handle)])
    checkEqual(waiting.stdout, 'met', 'what the waiting command saw')
  },

  async 'a command reads the input it is given'(context) {
    const text = await run(context, 'cat', undefined, { input: 'ä "q" $HOME\nno end' })
    checkEqual(text.stdout, 'ä "q" $HOME\nno end', 'the text')
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i >> 1)
    const counted = await run(context, 'wc -c', undefined, { input: bytes })
    checkEqual(counted.stdout.trim(), '300000', 'the number of bytes')
  },

  async 'a command need not read its input'(context) {
    const { exitCode } = await run(context, 'exit 4', undefined, { input: 'x'.repeat(1_000_000) })
    checkEqual(exitCode, 4, 'the exit code')
  },

  async 'without input there is nothing to read, and nothing to wait for'(context) {
    checkEqual((await run(context, 'cat; echo ended')).stdout, 'ended\n', 'the output')
  },
}

export const outputCases: ExecutionCases = {
  async 'a listener gets all output as it comes, in whole characters, and the result has none'(context) {
    const received: Record<'stdout' | 'stderr', string[]> = { stdout: [], stderr: [] }
    const onOutput = (text: string, from: 'stdout' | 'stderr') => void received[from].push(text)
    const command = `printf 'one '; printf err >&2; sleep 0.3; printf 'tw\\303'; sleep 0.3; printf '\\266\\n'; exit 5`
    const { stdout, stderr, exitCode } = await run(context, command, undefined, { onOutput })
    checkEqual({ stdout, stderr, exitCode }, { stdout: '', stderr: '', exitCode: 5 }, 'the result')
    checkEqual([received.stdout.join(''), received.stderr.join('')], ['one twö\n', 'err'], 'what was received')
    check(received.stdout.length > 1, 'the output must come in pieces, not at the end')
  },

  async 'the end of very long output is kept'(context) {
    const { stdout, exitCode } = await run(context, `head -c 12000000 /dev/zero | tr '\\0' x; echo the end`)
    checkEqual(exitCode, 0, 'the exit code')
    check(stdout.endsWith('xxxthe end\n'), 'the end must be there')
    check(stdout.length <= 10 * 1024 * 1024, `at most 10 MiB are kept, not ${stdout.length}`)
  },

  async 'output that is no UTF-8 is still output'(context) {
    const { stdout } = await run(context, `printf 'a\\377b\\000c'`)
    checkEqual(stdout, 'a\uFFFDb\u0000c', 'the output')
  },

  async 'what a command leaves running does not delay its result'(context) {
    const { stdout, exitCode, leftRunning } = await run(context, 'sleep 60 & echo done', undefined, { timeout: 30_000 })
    checkEqual([stdout, exitCode], ['done\n', 0], 'the result')
    if (leftRunning) checkEqual(leftRunning, ['sleep 60'], 'what was left running')
  },
}

export const endingCases: ExecutionCases = {
  async 'a command that takes too long is ended, with all it started'(context) {
    const handle = await context.spawn()
    const { exitCode } = await run(context, '(sleep 2.5; touch late) & sleep 10', handle, { timeout: 200 })
    checkEqual(exitCode, null, 'the exit code')
    await run(context, 'sleep 2.6', handle)
    checkEqual(await context.listFiles(handle, '.'), [], 'what its child did afterwards')
  },

  async 'a time limit of 0, or of a month, is none'(context) {
    for (const timeout of [0, 30 * 24 * 3_600_000]) {
      const { exitCode } = await run(context, 'sleep 0.05', undefined, { timeout })
      checkEqual(exitCode, 0, `the exit code under a limit of ${timeout} ms`)
    }
  },

  async 'an aborted signal ends a command at once'(context) {
    const handle = await context.spawn()
    const abort = new AbortController()
    const exitCode = exitCodeOf(context, context.exec(handle, 'touch begun; sleep 10', { signal: abort.signal }))
    await waitForFile(context, handle)
    abort.abort()
    checkEqual(await exitCode, null, 'the exit code')
  },

  async 'a signal that was aborted before starts nothing'(context) {
    const handle = await context.spawn()
    const work = context.exec(handle, 'touch begun; sleep 10', { signal: AbortSignal.abort() })
    checkEqual(await exitCodeOf(context, work), null, 'the exit code')
    checkEqual(await context.listFiles(handle, '.'), [], 'what the command did')
  },

  async 'destroy ends what runs under the handle, and nothing else'(context) {
    const [doomed, other] = [await context.spawn(), await context.spawn()]
    const exitCode = exitCodeOf(context, context.exec(doomed, 'touch begun; sleep 10'))
    const unharmed = run(context, 'sleep 0.1; echo done', other)
    await waitForFile(context, doomed)
    await context.destroy(doomed)
    checkEqual(await exitCode, null, 'the exit code')
    checkEqual((await unharmed).stdout, 'done\n', 'a command of another handle')
  },

  async 'destroy ends a command that was started a moment ago'(context) {
    const handle = await context.spawn()
    const cleanUp = new AbortController()
    const exitCode = exitCodeOf(context, context.exec(handle, 'sleep 10', { signal: cleanUp.signal }))
    try {
      await context.destroy(handle)
      checkEqual(await exitCode, null, 'the exit code')
    } finally {
      cleanUp.abort()
    }
  },

  async 'output from before a timeout is kept'(context) {
    const done = await run(context, 'echo so far; sleep 10', undefined, { timeout: 1000 })
    checkEqual([done.stdout, done.exitCode, done.timedOut], ['so far\n', null, true], 'the result')
    const quick = await run(context, 'true', undefined, { timeout: 5000 })
    checkEqual(quick.timedOut ?? false, false, 'whether a quick command ran out of time')
  },

  /** Checks nothing if handles do not see each other's files. */
  async 'destroy ends what has left the session of its command'(context) {
    const [doomed, other] = [await context.spawn(), await context.spawn()]
    const daemon = `sh -c 'while :; do echo >> beats; sleep 0.05; done'`
    const command = `command -v setsid >/dev/null && s=setsid; $s ${daemon} & sleep 10`
    const exitCode = exitCodeOf(context, context.exec(doomed, command))
    await waitForFile(context, doomed, 'beats')
    const isVisible = (await beats(context, other)) !== undefined
    await context.destroy(doomed)
    checkEqual(await exitCode, null, 'the exit code')
    if (!isVisible) return
    const before = await beats(context, other)
    await pause(300)
    checkEqual(await beats(context, other), before, 'what the daemon wrote until then')
  },
}

function beats(context: ExecutionContext, handle: ExecutionHandle): Promise<string | undefined> {
  return context.readFile(handle, 'beats').catch(() => undefined)
}
