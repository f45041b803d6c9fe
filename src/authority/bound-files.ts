import { posix } from 'node:path'
import type { ToolDef } from '../core/tool.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import { digestOfFile } from '../platform/digest.ts'
import { withFile } from '../platform/files-of.ts'
import type { JudgedCall } from './judged-call.ts'
import { touchesOf, type Workspace } from './prepare-call.ts'

/** The files whose content decides what an approved command does: its script, or the file that names the script. */
export function boundFiles({ shell }: JudgedCall): string[] {
  const files = (shell?.commands ?? []).flatMap(({ command: { words, cwd = '.' } }) => {
    const [program = ''] = words
    if (program.includes('/')) return [posix.normalize(posix.join(cwd, program))]
    return (definedIn.get(program) ?? []).map((name) => posix.join(cwd, name))
  })
  return [...new Set(files)]
}

const scripts = ['package.json']
const definedIn: ReadonlyMap<string, readonly string[]> = new Map([
  ['npm', scripts],
  ['pnpm', scripts],
  ['yarn', scripts],
  ['bun', scripts],
  ['make', ['GNUmakefile', 'makefile', 'Makefile']],
])

/** The current digests of files, by path. */
export async function digestsOf(paths: readonly string[], { location }: Workspace): Promise<Record<string, string>> {
  const digests: [string, string][] = []
  for (const path of paths)
    digests.push([path, location ? await withFile(location, path, digestOfFile).catch(() => absent) : absent])
  return Object.fromEntries(digests) // a file may be called `__proto__`
}

const absent = 'absent'

/** The digest a person approves: the call, and the current content of the files it changes. */
export async function digestWithFiles(tool: ToolDef, call: JudgedCall, workspace: Workspace): Promise<string> {
  const changed = touchesOf(tool, call.input)
    .filter(({ access }) => access === 'write' || access === 'edit')
    .map(({ path }) => path)
  const paths = [...changed, ...boundFiles(call)]
  if (paths.length === 0) return call.digest
  return digestOfJson([call.digest, await digestsOf(paths, workspace)])
}
