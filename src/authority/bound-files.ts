import { posix } from 'node:path'
import { digestOfFile } from '../platform/digest.ts'
import { plain } from '../shell/tables/program.ts'
import { filesProgramReads } from './files-programs-read.ts'
import type { JudgedCall } from './judged-call.ts'
import { withCommandFile } from './open-as-command.ts'
import type { Workspace } from './prepare-call.ts'

/** The files whose content decides what an approved command does: its script, or the file that names the script. */
export function boundFiles({ shell, cwd: start = '' }: Pick<JudgedCall, 'shell' | 'cwd'>): string[] {
  const files = (shell?.commands ?? []).flatMap(({ command: { words, cwd = '.' } }) => {
    const [program = '', ...rest] = words
    const names = program.includes('/') ? [program] : filesProgramReads(program, plain(rest))
    return names.map((name) => (name.startsWith('/') ? posix.normalize(name) : posix.join(start, cwd, name)))
  })
  return [...new Set(files)]
}

/** The current digests of files, by path. */
export async function digestsOf(paths: readonly string[], { location }: Workspace): Promise<Record<string, string>> {
  const digests: [string, string][] = []
  for (const path of paths)
    digests.push([path, location ? await withCommandFile(location, path, digestOfFile).catch(() => absent) : absent])
  return Object.fromEntries(digests) // a file may be called `__proto__`
}

/** The digest of a file that does not exist, or cannot be read. */
export const absent = 'absent'
