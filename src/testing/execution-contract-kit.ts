import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { check, within } from './contract.ts'

/** Cases of a contract by their names. Each gets a context of its own. */
export type Proofs = Readonly<Record<string, (context: ExecutionContext) => Promise<void>>>

/** Ends a case that hangs; measures nothing. */
const patience = 8000

/** Runs a command that is expected to end; without a handle in one of its own. */
export async function run(
  context: ExecutionContext,
  command: string,
  handle?: ExecutionHandle,
  options?: ExecOptions,
): Promise<ExecResult> {
  const work = context.exec(handle ?? (await context.spawn()), command, options)
  return within(patience, work, `the command \`${command}\``)
}

/** A command that was stopped may reject or say that it did not end by itself: null here. */
export function exitCodeOf(work: Promise<ExecResult>): Promise<number | null> {
  const exitCode = work.then(
    (done) => done.exitCode,
    () => null,
  )
  return within(patience, exitCode, 'a command that was to be ended')
}

/** Waits for the file by which a command says that it runs. */
export async function begun(context: ExecutionContext, handle: ExecutionHandle, file = 'begun'): Promise<void> {
  const isThere = async () => (await context.listFiles(handle, '.')).includes(file)
  const wait = async () => {
    while (!(await isThere())) await pause(5)
  }
  await within(patience, wait(), 'the start of the command')
}

/** The code of the error that it must fail with. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await within(patience, Promise.allSettled([work]), 'a verb that was to fail')
  check(outcome.status === 'rejected', 'it must fail and did not fail')
  return outcome.reason?.code
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Tells of each handle that was spawned, so that all of them can be destroyed. */
export function counting(context: ExecutionContext): { context: ExecutionContext; handles: ExecutionHandle[] } {
  const handles: ExecutionHandle[] = []
  const { stat, openFile } = context
  const counted: ExecutionContext = {
    type: context.type,
    capabilities: context.capabilities,
    async spawn(config) {
      const handle = await context.spawn(config)
      handles.push(handle)
      return handle
    },
    exec: (...args) => context.exec(...args),
    readFile: (...args) => context.readFile(...args),
    writeFile: (...args) => context.writeFile(...args),
    listFiles: (...args) => context.listFiles(...args),
    destroy: (handle) => context.destroy(handle),
    ...(stat && { stat: (...args) => stat.apply(context, args) }),
    ...(openFile && { openFile: (...args) => openFile.apply(context, args) }),
  }
  return { context: counted, handles }
}
