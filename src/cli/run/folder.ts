import { stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'

/** The folder that `--cwd` names, else the present one. A folder that is gone can still be left by an absolute path. */
export async function folderOf(named: string | undefined, io: Pick<Io, 'cwd'>): Promise<string> {
  if (named === undefined) return io.cwd
  const path = isAbsolute(named) ? resolve(named) : resolve(io.cwd, named)
  const shown = fullyVisible(named)
  const info = await stat(path).catch((cause) => {
    throw new UsageError(`--cwd ${shown}: there is no such folder, or you may not enter it; check the path`, { cause })
  })
  if (!info.isDirectory()) throw new UsageError(`--cwd ${shown} is a file; name a folder`)
  return path
}
