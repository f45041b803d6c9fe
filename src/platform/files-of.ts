import type { ExecutionContext, ExecutionHandle, FileInfo, OpenFile } from '../core/execution.ts'
import { resolvePosix } from '../core/execution.ts'
import { digestOf } from './digest.ts'

/** The execution context and handle in which files are found, for instance those of a `ToolContext`. */
export interface FileLocation {
  readonly execution: ExecutionContext
  readonly handle: ExecutionHandle
}

/** Opens a file in any context. If the context cannot hold files open, the whole file is read at once. */
export async function openFile({ execution, handle }: FileLocation, path: string): Promise<OpenFile> {
  if (execution.openFile) return execution.openFile(handle, path)
  // The stamp is taken before reading. If the file changes in between, the stamp is too old, and a later write is refused. A stamp
  // taken after reading would hide that change.
  const info = await execution.stat?.(handle, path)
  const bytes = new TextEncoder().encode(await execution.readFile(handle, path))
  return {
    info: info ?? infoOf(handle, path, bytes),
    read: async (position, length) => bytes.subarray(position, position + length),
    close: async () => {},
  }
}

/** Opens a file, uses it and closes it. */
export async function withFile<T>(
  location: FileLocation,
  path: string,
  use: (file: OpenFile) => Promise<T>,
): Promise<T> {
  const file = await openFile(location, path)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** All bytes of an open file. */
export async function readAll({ info, read }: OpenFile): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for (let position = 0; ; ) {
    const part = await read(position, Math.max(info.size - position, 65_536))
    if (part.length === 0) return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    parts.push(part)
    position += part.length
  }
}

/** What is told of a file if the context has no `stat`: only the content is known, so the stamp is made up from it. */
function infoOf(handle: ExecutionHandle, path: string, bytes: Uint8Array): FileInfo {
  const absolute = resolvePosix(handle.cwd, path)
  return {
    path: absolute,
    key: `${handle.id}:${absolute}`,
    kind: 'file',
    size: bytes.length,
    mtimeMs: 0,
    stamp: digestOf(bytes),
  }
}
