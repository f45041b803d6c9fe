import { posix } from 'node:path'
import { contentIdOf } from '../platform/digest.ts'
import { plain, valuesOf } from '../shell/tables/program.ts'
import { filesProgramReads } from './files-programs-read.ts'
import type { JudgedCall } from './judged-call.ts'
import { withCommandFile } from './open-as-command.ts'
import type { Workspace } from './prepare-call.ts'

/** The files whose content decides what an approved command does: its script, or the file that names the script. */
export function boundFiles({ shell, cwd: start = '' }: Pick<JudgedCall, 'shell' | 'cwd'>): string[] {
  const files = (shell?.commands ?? []).flatMap(({ command: { words, cwd = '.' } }) => {
    const [program = '', ...rest] = words
    const names = program.includes('/')
      ? [program]
      : [...filesProgramReads(program, plain(rest)), ...makefilesIn(words)]
    return names.map((name) => within(posix.join(start, cwd), name))
  })
  return [...new Set(files)]
}

/** The makefiles that flags name, or that lie in the folder they name: `-f x`, `-kfx`, `--file=x`, `-C sub`. */
function makefilesIn([program = '', ...rest]: readonly string[]): string[] {
  if (!/^g?make$/.test(program)) return []
  const folder = valuesOf(/^(?:-[^-]*?C|--d[a-z]*)/, rest).reduce(within, '.')
  const named = valuesOf(/^(?:-[^-]*?f|--[fm][a-z]*)/, rest)
  return [...named, ...filesProgramReads(program, [])].map((name) => within(folder, name))
}

const within = (folder: string, name: string): string =>
  name.startsWith('/') ? posix.normalize(name) : posix.join(folder, name)

/** Those of the files that exist and can be read. */
export async function presentFiles(paths: readonly string[], workspace: Workspace): Promise<string[]> {
  const digests = await digestsOf(paths, workspace)
  return paths.filter((path) => digests[path] !== absent)
}

/** The current digests of files, by path. */
export async function digestsOf(paths: readonly string[], { location }: Workspace): Promise<Record<string, string>> {
  const digests: [string, string][] = []
  for (const path of paths)
    digests.push([path, location ? await withCommandFile(location, path, contentIdOf).catch(() => absent) : absent])
  return Object.fromEntries(digests) // a file may be called `__proto__`
}

/** The digest of a file that does not exist, or cannot be read. */
export const absent = 'absent'
