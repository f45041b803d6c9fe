import { access, constants } from 'node:fs/promises'
import { codeOf } from '../core/errors.ts'
import type { ExecOptions, ExecutionContext, ExecutionHandle, FileInfo, OpenFile } from '../core/execution.ts'
import { digestOf } from '../platform/digest.ts'
import { readAll } from '../platform/files-of.ts'
import { type CreateTerminal, runInTerminal } from './client-terminals.ts'

/** What a client offers to tools. */
export interface ClientServices extends ClientFileSystem {
  readonly createTerminal?: CreateTerminal
  /** Told which terminal the command of a call runs in. */
  readonly onTerminal?: (callId: string, terminalId: string) => void
  /** How often new output of terminals is asked for, in milliseconds. Default 500. */
  readonly pollMs?: number
}

/**
 * The context of this machine, in which the client reads and writes files, and commands run in its terminals. A command that
 * must be confined, or that a tool needs for its own work, runs here: no terminal of a client has a sandbox.
 */
export function clientExecution(base: ExecutionContext, services: ClientServices): ExecutionContext {
  const { createTerminal: create, onTerminal: onStart, pollMs } = services
  const { stat, openFile, sandbox } = base
  const running = new Map<string, Set<AbortController>>()
  const environments = new Map<string, Readonly<Record<string, string>>>()

  const exec: ExecutionContext['exec'] = async (handle, command, options = {}) => {
    if (!create || !isForTerminal(options)) return base.exec(handle, command, options)
    const { cwd = '.', env, signal } = options
    const stop = new AbortController()
    const own = running.get(handle.id) ?? new Set()
    running.set(handle.id, own.add(stop))
    try {
      const folder = await base.stat?.(handle, cwd)
      if (folder?.kind === 'file') throw new Error(`${cwd} is a file; run it in a folder`)
      return await runInTerminal(
        handle,
        command,
        {
          ...options,
          cwd: folder?.path ?? cwd, // as it was judged, not resolved a second time
          env: { ...environments.get(handle.id), ...env },
          signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
        },
        { create, ...(onStart && { onStart }), ...(pollMs !== undefined && { pollMs }) },
      )
    } finally {
      own.delete(stop)
    }
  }

  return {
    type: base.type,
    capabilities: base.capabilities,
    async spawn(config) {
      const handle = await base.spawn(config)
      if (config?.env) environments.set(handle.id, config.env)
      return handle
    },
    exec,
    readFile: (handle, path) => base.readFile(handle, path),
    writeFile: (handle, path, content, options) => base.writeFile(handle, path, content, options),
    listFiles: (handle, path) => base.listFiles(handle, path),
    async destroy(handle) {
      for (const stop of running.get(handle.id) ?? []) stop.abort(new Error('The execution handle was destroyed'))
      running.delete(handle.id)
      environments.delete(handle.id)
      await base.destroy(handle)
    },
    ...(stat && { stat: (handle, path) => stat.call(base, handle, path) }),
    ...(openFile && { openFile: (handle, path) => openFile.call(base, handle, path) }),
    ...(sandbox && { sandbox: (handle) => sandbox.call(base, handle) }),
    ...clientFiles(base, services),
  }
}

/** A command that a call is about, and that needs nothing which a terminal cannot give. */
const isForTerminal = ({ call, confinement, input, programs }: ExecOptions): boolean =>
  call !== undefined && confinement === undefined && input === undefined && programs === undefined

/** How a client reads and writes the files that it may have open. Paths are absolute. */
interface ClientFileSystem {
  readonly read?: (path: string) => Promise<string>
  readonly write?: (path: string, text: string) => Promise<void>
}

type Files = Pick<ExecutionContext, 'readFile' | 'writeFile' | 'stat' | 'openFile'>

/** Larger files are not asked for: editors do not open them either. */
const largest = 4 * 1024 * 1024

/**
 * Files as the client has them. A file that the client shows with changes that are not saved is read as it shows it; all others
 * are read from the disk, byte for byte. The checks of `base` apply to every path before the client is asked.
 */
function clientFiles(base: ExecutionContext, { read, write }: ClientFileSystem): Partial<Files> {
  const { openFile: open } = base
  if (!open || (!read && !write)) return {}
  const openOnDisk = (handle: ExecutionHandle, path: string): Promise<OpenFile> => open.call(base, handle, path)

  /** The text that is not saved; undefined if the client has none, or does not tell. */
  async function unsaved(file: OpenFile): Promise<Uint8Array | undefined> {
    if (!read || file.info.kind !== 'file' || file.info.size > largest) return undefined
    // The client gets the path of the file that was judged and is held open, never one that is resolved a second time.
    const shown = await read(file.info.path).catch(() => undefined)
    if (shown === undefined) return undefined
    const saved = new TextDecoder().decode(await readAll(file)) // without its byte order mark
    return plain(shown) === plain(saved) ? undefined : new TextEncoder().encode(shown)
  }

  async function openFile(handle: ExecutionHandle, path: string): Promise<OpenFile> {
    const file = await openOnDisk(handle, path)
    try {
      const bytes = await unsaved(file)
      if (!bytes) return file
      await file.close()
      return {
        info: infoOf(file.info, bytes),
        read: async (position, length) => bytes.subarray(position, position + length),
        close: async () => {},
      }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async function stat(handle: ExecutionHandle, path: string): Promise<FileInfo> {
    const info = await base.stat!(handle, path)
    if (!read || info.kind !== 'file' || info.size > largest) return info
    const file = await openFile(handle, path)
    await file.close()
    return file.info
  }

  return {
    openFile,
    ...(base.stat && { stat }),
    async readFile(handle, path) {
      const file = await openFile(handle, path)
      try {
        return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readAll(file))
      } finally {
        await file.close()
      }
    },
    /** The client cannot be given a condition: a change that comes between the check and its write is lost. */
    async writeFile(handle, path, content, options = {}) {
      const toDisk = (): Promise<void> => base.writeFile(handle, path, content, options)
      const file = write && (await openFile(handle, path).catch((error) => missing(error)))
      if (!write || !file) return toDisk()
      await file.close()
      const isUnsaved = file.info.stamp.startsWith(unsavedMark)
      const text = typeof content === 'string' ? content : textOf(content)
      // What an editor may write differently is written to the disk, unless that would lose what the person typed.
      if (text === undefined || file.info.size > largest || (!isUnsaved && /[\r\uFEFF\0]/.test(text))) return toDisk()
      const { ifStamp } = options
      if (ifStamp !== undefined && ifStamp !== file.info.stamp)
        throw Object.assign(new Error(`${path} was changed meanwhile`), { code: 'ESTALE' })
      await access(file.info.path, constants.W_OK)
      await write(file.info.path, text)
    },
  }
}

const unsavedMark = 'unsaved '

const infoOf = (info: FileInfo, bytes: Uint8Array): FileInfo => ({
  ...info,
  size: bytes.length,
  stamp: `${unsavedMark}${digestOf(bytes)}`,
})

/** Editors keep line ends and byte order marks apart from the text. */
const plain = (text: string): string => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')

function missing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

function textOf(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}
