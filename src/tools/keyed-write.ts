import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { codeOf, messageOf } from '../core/errors.ts'
import type { FileInfo, OpenFile } from '../core/execution.ts'
import type { FileTouch, PreviewContext, ToolContext, TouchedFile } from '../core/tool.ts'
import { digestOf, digestOfFile } from '../platform/digest.ts'
import { openFile, readAll, withFile } from '../platform/files-of.ts'
import { othersIn } from './event-loop.ts'
import { fileProblem } from './file-problem.ts'
import { inTurn } from './in-turn.ts'
import { isFolder } from './is-folder.ts'
import { type PlannedWrite, plannedWriteOf, planWrite } from './planned-writes.ts'

/** The part of a `ToolContext` that changing a file takes. */
export type ChangeContext = Pick<
  ToolContext,
  'execution' | 'handle' | 'signal' | 'log' | 'callId' | 'idempotencyKey' | 'attempt'
>

/** The file as it is now, under the lock. */
export interface PresentFile {
  readonly info: FileInfo
  /** All of it, read once; throws, in words for the model, when it is larger than `mostChanged`. */
  bytes(): Promise<Uint8Array>
}

/**
 * What the file is to hold; `'no change'` leaves it alone, and where there is none it is the error that there is none.
 * What it throws is the tool's error, as it is.
 */
export type Change = (present: PresentFile | undefined) => Promise<Uint8Array | 'no change'>

export type ChangedFile =
  | {
      readonly outcome: 'changed'
      readonly isNew: boolean
      readonly file: TouchedFile
      /** Absent for a new file, and for one whose `bytes` nobody asked for. */
      readonly before?: Uint8Array
      readonly after: Uint8Array
    }
  | { readonly outcome: 'no change'; readonly file: TouchedFile }
  /** This call had written the file before its process died; nothing was done now. */
  | { readonly outcome: 'written before'; readonly isNew: boolean; readonly file: TouchedFile }

/** Files larger than this are not read as a whole. */
export const mostChanged = 64 * 1024 * 1024

/**
 * Changes one file, once: waits its turn, reads, computes, notes in the log what it is about to do, writes. A call that
 * runs again after a crash finds its note and does not write twice. Errors are words for the model.
 */
export async function changeFile(ctx: ChangeContext, touch: FileTouch, change: Change): Promise<ChangedFile> {
  const { path } = touch
  refuseFolderName(path)
  // A new file has no key yet, so those who make it meet at its path.
  return serialised(ctx, `path ${posix.resolve(ctx.handle.cwd, path)}`, async () => {
    const key = await usingPresent(ctx, path, async (file) => file?.info.key)
    if (key === undefined) return changeInTurn(ctx, touch, change)
    return serialised(ctx, key, () => changeInTurn(ctx, touch, change))
  })
}

/** Looks at a file as `changeFile` would, and changes nothing. `undefined` from `look` is the error that there is no file. */
export async function previewFile<T>(
  ctx: PreviewContext,
  path: string,
  look: (present: PresentFile | undefined) => Promise<T | undefined>,
): Promise<T> {
  refuseFolderName(path)
  return usingPresent(ctx, path, async (open) => {
    const seen = await look(open && presentFile(path, open))
    if (seen === undefined) throw await missing(path, ctx)
    return seen
  })
}

function refuseFolderName(path: string): void {
  if (path.endsWith('/')) throw new Error(`"${path}" names a folder; give the path of a file`)
}

const missing = (path: string, ctx: PreviewContext): Promise<Error> =>
  fileProblem(Object.assign(new Error(path), { code: 'ENOENT' }), path, ctx)

/**
 * Work on one file, one after the other in the order of arrival, over all agents that share an execution context. Work
 * that is no longer wanted leaves the queue; work that has begun is waited for.
 */
export function serialised<T>(
  { execution, signal }: Pick<ToolContext, 'execution' | 'signal'>,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  return inTurn(execution, key, signal, work)
}

async function changeInTurn(ctx: ChangeContext, touch: FileTouch, change: Change): Promise<ChangedFile> {
  const { path } = touch
  const computed = await usingPresent(ctx, path, (open) => compute(ctx, touch, change, open))
  if ('outcome' in computed) return computed
  const { present, name, before, after } = computed
  const digest = digestOf(after)
  await othersIn(ctx.signal)
  await planWrite(ctx, { path, before: name, after: digest })
  // From here to the write nothing else runs, so none begins that is no longer wanted.
  ctx.signal.throwIfAborted()
  await write(ctx, path, after, present)
  const file = await written(ctx, touch, after)
  return { outcome: 'changed', isNew: !present, file, ...(before && { before }), after }
}

interface Computed {
  readonly present: FileInfo | undefined
  /** What names the file as it is: its digest, or for a very large one its stamp. */
  readonly name: string | null
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array
}

async function compute(
  ctx: ChangeContext,
  touch: FileTouch,
  change: Change,
  open: OpenFile | undefined,
): Promise<ChangedFile | Computed> {
  const { path } = touch
  const planned = plannedWriteOf(ctx)
  if (planned && open && (await wasWritten(planned, open)))
    return { outcome: 'written before', isNew: planned.before === null, file: await touched(touch, open) }
  const name = open ? await digestOfFile(open) : null
  if (planned && planned.before !== name)
    throw new Error(
      `"${path}" is neither what it was nor what this call was to make of it: it was changed while the call was interrupted, and was left as it is; read it again`,
    )
  const present = open && presentFile(path, open)
  const after = await change(present)
  if (after !== 'no change') return { present: open?.info, name, before: await present?.read, after }
  if (!open) throw await missing(path, ctx)
  return { outcome: 'no change', file: await touched(touch, open) }
}

/** Opens the file for the while, if there is one. */
async function usingPresent<T>(
  ctx: PreviewContext,
  path: string,
  use: (file: OpenFile | undefined) => Promise<T>,
): Promise<T> {
  const file = await openPresent(ctx, path)
  try {
    return await use(file)
  } finally {
    await file?.close()
  }
}

async function openPresent(ctx: PreviewContext, path: string): Promise<OpenFile | undefined> {
  try {
    return await openFile(ctx, path)
  } catch (error) {
    if (await isFolder(error, path, ctx)) throw new Error(`"${path}" is a folder, not a file`)
    if (codeOf(error) === 'ENOENT') return undefined
    throw await fileProblem(error, path, ctx)
  }
}

function presentFile(path: string, file: OpenFile): PresentFile & { readonly read: Promise<Uint8Array> | undefined } {
  let read: Promise<Uint8Array> | undefined
  return {
    info: file.info,
    get read() {
      return read
    },
    async bytes() {
      if (file.info.size > mostChanged)
        throw new Error(
          `"${path}" has ${file.info.size} bytes, more than the ${mostChanged} that can be changed in one piece; use a command instead`,
        )
      read ??= readAll(file)
      return read
    },
  }
}

/** Whether an earlier attempt got as far as writing. */
async function wasWritten({ after }: PlannedWrite, file: OpenFile): Promise<boolean> {
  return (await contentDigest(file)) === after
}

/** Of every byte, however many there are. */
async function contentDigest({ read }: OpenFile): Promise<string> {
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
  present: FileInfo | undefined,
): Promise<void> {
  const { execution, handle } = ctx
  // Stamps of a context that cannot tell any are our own, and mean nothing to it.
  const hasStamps = execution.openFile !== undefined || execution.stat !== undefined
  const ifStamp = present ? present.stamp : null
  try {
    await execution.writeFile(handle, path, content, present && !hasStamps ? {} : { ifStamp })
  } catch (error) {
    throw await fileProblem(error, path, ctx)
  }
}

async function touched({ path, access }: FileTouch, file: OpenFile): Promise<TouchedFile> {
  return { path, access, key: file.info.key, digest: await digestOfFile(file) }
}

/** Named by what we wrote, not by what may stand there by now. */
async function written(ctx: ChangeContext, touch: FileTouch, content: Uint8Array): Promise<TouchedFile> {
  const { path } = touch
  try {
    const info = await withFile(ctx, path, async (file) => file.info)
    const read: OpenFile['read'] = async (position, length) => content.subarray(position, position + length)
    return await touched(touch, { info: { ...info, size: content.length }, read, close: async () => {} })
  } catch (error) {
    throw new Error(`"${path}" was written, but cannot be looked at any more: ${messageOf(error)}`, { cause: error })
  }
}
