import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { checkEqual } from './contract.ts'
import { begun, exitCodeOf, type Proofs, pause, run } from './execution-contract-kit.ts'

export const endingProofs: Proofs = {
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
    const exitCode = exitCodeOf(context.exec(handle, 'touch begun; sleep 10', { signal: abort.signal }))
    await begun(context, handle)
    abort.abort()
    checkEqual(await exitCode, null, 'the exit code')
  },

  async 'a signal that was aborted before starts nothing'(context) {
    const handle = await context.spawn()
    const work = context.exec(handle, 'touch begun; sleep 10', { signal: AbortSignal.abort() })
    checkEqual(await exitCodeOf(work), null, 'the exit code')
    checkEqual(await context.listFiles(handle, '.'), [], 'what the command did')
  },

  async 'destroy ends what runs under the handle, and nothing else'(context) {
    const [doomed, other] = [await context.spawn(), await context.spawn()]
    const exitCode = exitCodeOf(context.exec(doomed, 'touch begun; sleep 10'))
    const unharmed = run(context, 'sleep 0.1; echo done', other)
    await begun(context, doomed)
    await context.destroy(doomed)
    checkEqual(await exitCode, null, 'the exit code')
    checkEqual((await unharmed).stdout, 'done\n', 'a command of another handle')
  },

  async 'destroy ends a command that was started a moment ago'(context) {
    const handle = await context.spawn()
    const cleanUp = new AbortController()
    const exitCode = exitCodeOf(context.exec(handle, 'sleep 10', { signal: cleanUp.signal }))
    try {
      await context.destroy(handle)
      checkEqual(await exitCode, null, 'the exit code')
    } finally {
      cleanUp.abort()
    }
  },

  async 'what a command said before its time was up is kept'(context) {
    const done = await run(context, 'echo so far; sleep 10', undefined, { timeout: 1000 })
    checkEqual([done.stdout, done.exitCode, done.timedOut], ['so far\n', null, true], 'the result')
    const quick = await run(context, 'true', undefined, { timeout: 5000 })
    checkEqual(quick.timedOut ?? false, false, 'whether a quick command ran out of time')
  },

  /** Where handles do not see each other's files nobody can look, and this says nothing. */
  async 'destroy ends what has left the session of its command'(context) {
    const [doomed, other] = [await context.spawn(), await context.spawn()]
    const daemon = `sh -c 'while :; do echo >> beats; sleep 0.05; done'`
    const command = `command -v setsid >/dev/null && s=setsid; $s ${daemon} & sleep 10`
    const exitCode = exitCodeOf(context.exec(doomed, command))
    await begun(context, doomed, 'beats')
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
