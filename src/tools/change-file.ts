import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { sharedContextOf } from '../core/confined-execution.ts'
import { codeOf, messageOf } from '../core/errors.ts'
import type { FileInfo, OpenFile } from '../core/execution.ts'
import type { FileTouch, PreviewContext, ToolContext, TouchedFile } from '../core/tool.ts'
import { contentIdOf, digestOf } from '../platform/digest.ts'
import { openFile, readAll, withFile } from '../platform/files-of.ts'
import { type PlannedWrite, plannedWritesIn, plannedWritesOwner, plannedWriteWith } from '../platform/planned-writes.ts'
import { fileProblem, isFolder } from './file-problem.ts'
import { runSerially, yieldToEventLoop } from './serial-queue.ts'

/** The part of a `ToolContext` that is needed to change a file. */
export type ChangeContext = Pick<
  ToolContext,
  'execution' | 'handle' | 'signal' | 'log' | 'callId' | 'idempotencyKey' | 'attempt'
>

/** The file as it is now. While `changeFile` uses it, no other call changes it; during `previewFile`, other calls may. */
export interface CurrentFile {
  readonly info: FileInfo
  /** Reads the whole content. Throws an error for the model if the file is larger than `maxEditableBytes`. */
  bytes(): Promise<Uint8Array>
}

/** Computes the new content of the file. An error that this function throws is the error of the tool. */
export type Change<T> = (current: CurrentFile | undefined) => Promise<ComputedChange<T>>

interface ComputedChange<T> {
  /** Absent: the file stays as it is, which is an error if there is no file. */
  readonly content?: Uint8Array
  /** Given back to the caller of `changeFile`. */
  readonly value: T
  /** Plain JSON. If this attempt of the call is interrupted after the write, the next one gets the report. */
  readonly report?: unknown
}

/** What `changeFile` did. */
export type ChangeResult<T> =
  | { readonly outcome: 'changed'; readonly isNew: boolean; readonly file: TouchedFile; readonly value: T }
  | { readonly outcome: 'no change'; readonly file: TouchedFile; readonly value: T }
  /** An earlier attempt of this call wrote the file before its process died; this attempt changed nothing. */
  | {
      readonly outcome: 'written by earlier attempt'
      readonly isNew: boolean
      readonly file: TouchedFile
      readonly report?: unknown
    }

/** Larger files are not read as a whole. */
export const maxEditableBytes = 64 * 1024 * 1024

/**
 * Changes one file exactly once: waits for other changes to it, reads it, computes the new content, records the planned
 * write in the log, then writes. A call that runs again after a crash finds its plan and does not write twice. Errors are
 * written for the model.
 */
export async function changeFile<T>(ctx: ChangeContext, touch: FileTouch, change: Change<T>): Promise<ChangeResult<T>> {
  const { path } = touch
  refuseFolderName(path)
  const { handle, signal } = ctx
  const owner = sharedContextOf(ctx.execution)
  // Changes of one file wait in one queue, which all agents of an execution context share. The file is identified by its key, which
  // is the same for all its names. A file that is to be created has no key yet, so calls also wait in a queue for the path.
  return runSerially(owner, `path ${posix.resolve(handle.cwd, path)}`, signal, async () => {
    const key = await withFileIfExists(ctx, path, async (file) => file?.info.key)
    if (key === undefined) return changeExclusively(ctx, touch, change)
    return runSerially(owner, key, signal, () => changeExclusively(ctx, touch, change))
  })
}

/** Opens a file as `changeFile` does, and changes nothing. */
export async function previewFile<T>(
  ctx: PreviewContext,
  path: string,
  use: (current: CurrentFile | undefined) => Promise<T>,
): Promise<T> {
  refuseFolderName(path)
  return withFileIfExists(ctx, path, (file) => use(file && currentFileOf(path, file)))
}

function refuseFolderName(path: string): void {
  if (path.endsWith('/')) throw new Error(`"${path}" names a folder; give the path of a file`)
}

/** The error that there is no such file, with similar names as a hint. */
export const noSuchFile = (path: string, ctx: PreviewContext): Promise<Error> =>
  fileProblem(Object.assign(new Error(path), { code: 'ENOENT' }), path, ctx)

async function changeExclusively<T>(ctx: ChangeContext, touch: FileTouch, change: Change<T>): Promise<ChangeResult<T>> {
  const { path } = touch
  const prepared = await withFileIfExists(ctx, path, (file) => prepareWrite(ctx, touch, change, file))
  if ('outcome' in prepared) return prepared
  const { info, beforeId, content, value, report } = prepared
  const afterDigest = digestOf(content)
  await yieldToEventLoop(ctx.signal)
  await planWrite(ctx, { path, before: beforeId, after: afterDigest, ...(report !== undefined && { report }) })
  // Nothing else runs between this check and the write, so a cancelled call does not start writing.
  ctx.signal.throwIfAborted()
  await write(ctx, path, content, info)
  return { outcome: 'changed', isNew: !info, file: await writtenFile(ctx, touch, content), value }
}

interface PreparedWrite<T> extends ComputedChange<T> {
  readonly content: Uint8Array
  readonly info: FileInfo | undefined
  /** Identifies the old content: its digest, or the stamp of a very large file. `null` if there is no file. */
  readonly beforeId: string | null
}

async function prepareWrite<T>(
  ctx: ChangeContext,
  touch: FileTouch,
  change: Change<T>,
  existing: OpenFile | undefined,
): Promise<ChangeResult<T> | PreparedWrite<T>> {
  const { path } = touch
  const planned = plannedWriteOf(ctx)
  if (planned && existing && (await wasWritten(planned, existing)))
    return {
      outcome: 'written by earlier attempt',
      isNew: planned.before === null,
      file: await touched(touch, existing),
      ...(planned.report !== undefined && { report: planned.report }),
    }
  const beforeId = existing ? await contentIdOf(existing) : null
  if (planned && planned.before !== beforeId)
    throw new Error(
      `"${path}" was changed by something else while this call was interrupted, so nothing was written; read it again`,
    )
  const { content, value, report } = await change(existing && currentFileOf(path, existing))
  if (content) return { content, value, report, info: existing?.info, beforeId }
  if (!existing) throw await noSuchFile(path, ctx)
  return { outcome: 'no change', file: await touched(touch, existing), value }
}

/** Opens the file, if there is one, while `use` runs. */
async function withFileIfExists<T>(
  ctx: PreviewContext,
  path: string,
  use: (file: OpenFile | undefined) => Promise<T>,
): Promise<T> {
  const file = await openIfExists(ctx, path)
  try {
    return await use(file)
  } finally {
    await file?.close()
  }
}

async function openIfExists(ctx: PreviewContext, path: string): Promise<OpenFile | undefined> {
  try {
    return await openFile(ctx, path)
  } catch (error) {
    if (await isFolder(error, path, ctx)) throw new Error(`"${path}" is a folder, not a file`)
    if (codeOf(error) === 'ENOENT') return undefined
    throw await fileProblem(error, path, ctx)
  }
}

const currentFileOf = (path: string, file: OpenFile): CurrentFile => ({
  info: file.info,
  async bytes() {
    if (file.info.size > maxEditableBytes)
      throw new Error(
        `"${path}" has ${file.info.size} bytes, more than the maximum of ${maxEditableBytes} for an edit; use a command instead`,
      )
    return readAll(file)
  },
})

/** Whether an earlier attempt wrote the file. */
async function wasWritten({ after }: PlannedWrite, file: OpenFile): Promise<boolean> {
  return (await wholeDigestOf(file)) === after
}

/** The digest of the whole content. `contentIdOf` would give only the stamp of a very large file. */
async function wholeDigestOf({ read }: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  for (let position = 0; ; ) {
    const bytes = await read(position, 1024 * 1024)
    if (bytes.length === 0) return hash.digest('hex')
    hash.update(bytes)
    position += bytes.length
  }
}

async function write(
  ctx: ChangeContext,
  path: string,
  content: Uint8Array,
  current: FileInfo | undefined,
): Promise<void> {
  const { execution, handle } = ctx
  // The write fails if the stamp of the file has changed by then. A context with neither `openFile` nor `stat` has no stamps:
  // `current.stamp` was made up by `openFile` of platform/files-of.ts and means nothing to `writeFile`, so it is not passed.
  const hasStamps = execution.openFile !== undefined || execution.stat !== undefined
  const ifStamp = current ? current.stamp : null
  try {
    await execution.writeFile(handle, path, content, current && !hasStamps ? {} : { ifStamp })
  } catch (error) {
    throw await fileProblem(error, path, ctx)
  }
}

async function touched({ path, access }: FileTouch, file: OpenFile): Promise<TouchedFile> {
  return { path, access, key: file.info.key, digest: await contentIdOf(file) }
}

/** The file after the write. Its digest is that of the written content: the file itself may have changed since. */
async function writtenFile(ctx: ChangeContext, touch: FileTouch, content: Uint8Array): Promise<TouchedFile> {
  const { path } = touch
  try {
    const info = await withFile(ctx, path, async (file) => file.info)
    const read: OpenFile['read'] = async (position, length) => content.subarray(position, position + length)
    return await touched(touch, { info: { ...info, size: content.length }, read, close: async () => {} })
  } catch (error) {
    throw new Error(`"${path}" was written, but cannot be opened any more: ${messageOf(error)}`, { cause: error })
  }
}

type PlanContext = Pick<ToolContext, 'log' | 'signal' | 'callId' | 'idempotencyKey' | 'attempt'>

/** The write that an earlier attempt of this call had planned before it was cut off. */
export function plannedWriteOf({ log, idempotencyKey, attempt }: PlanContext): PlannedWrite | undefined {
  return attempt > 1 ? plannedWriteWith(log, idempotencyKey) : undefined
}

/** Records in the log what this call is about to write. Must be awaited before the write. */
export function planWrite(ctx: PlanContext, planned: Omit<PlannedWrite, 'key' | 'callId'>): Promise<void> {
  const { log, signal, callId, idempotencyKey: key } = ctx
  // One call after another: a state entry replaces the previous state entry of its owner, so it must contain the open plans of other
  // calls too.
  return runSerially(log, plannedWritesOwner, signal, async () => {
    const others = plannedWritesIn(log).filter((plan) => plan.key !== key && log.transcript.isUnderWay(plan.callId))
    await log.append({
      type: 'state',
      owner: plannedWritesOwner,
      value: { writes: [...others, { key, callId, ...planned }] },
    })
  })
}
