import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { check, within } from './contract.ts'

/** What a case tests: a new context, and how long a verb of it may take before the case fails. */
export interface TestedContext extends ExecutionContext {
  readonly timeoutMs: number
}

/** Cases of the execution contract by name. */
export type ExecutionCases = Readonly<Record<string, (context: TestedContext) => Promise<void>>>

/** Runs a command that is expected to end; without a handle in a new one. */
export async function run(
  context: TestedContext,
  command: string,
  handle?: ExecutionHandle,
  options?: ExecOptions,
): Promise<ExecResult> {
  const work = context.exec(handle ?? (await context.spawn()), command, options)
  return within(context.timeoutMs, work, `the command \`${command}\``)
}

/** The exit code; null for a command that was stopped, whether it rejects or not. */
export function exitCodeOf({ timeoutMs }: TestedContext, work: Promise<ExecResult>): Promise<number | null> {
  const exitCode = work.then(
    (done) => done.exitCode,
    () => null,
  )
  return within(timeoutMs, exitCode, 'a command that was to be ended')
}

/** Waits for the file that a command creates when it starts. */
export async function waitForFile(context: TestedContext, handle: ExecutionHandle, file = 'begun'): Promise<void> {
  const isThere = async () => (await context.listFiles(handle, '.')).includes(file)
  const wait = async () => {
    while (!(await isThere())) await pause(5)
  }
  await within(context.timeoutMs, wait(), 'the start of the command')
}

/** The code of the error; the work must fail. */
export async function codeOf({ timeoutMs }: TestedContext, work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await within(timeoutMs, Promise.allSettled([work]), 'a verb that was to fail')
  check(outcome.status === 'rejected', 'it must fail and did not fail')
  return outcome.reason?.code
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Collects each handle that is spawned, so that all of them can be destroyed. */
export function trackHandles(
  context: ExecutionContext,
  timeoutMs: number,
): { context: TestedContext; handles: ExecutionHandle[] } {
  const handles: ExecutionHandle[] = []
  const { stat, openFile } = context
  const counted: TestedContext = {
    timeoutMs,
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
