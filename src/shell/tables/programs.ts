import { builtins } from './builtins.ts'
import { changingPrograms } from './changing-programs.ts'
import { codePrograms } from './code-programs.ts'
import { filePrograms } from './file-programs.ts'
import { git } from './git.ts'
import { machinePrograms } from './machine-programs.ts'
import { networkPrograms } from './network-programs.ts'
import type { Program } from './program.ts'
import { searchPrograms } from './search-programs.ts'
import { textPrograms } from './text-programs.ts'
import { opaqueWrappers, shells, stateChangingBuiltins, wrappers } from './wrappers.ts'

/** The one list of programs, in groups. A name is in one group only. */
export const programGroups: readonly Readonly<Record<string, Program>>[] = [
  builtins,
  textPrograms,
  filePrograms,
  searchPrograms,
  machinePrograms,
  changingPrograms,
  networkPrograms,
  codePrograms,
  { git },
]

const programs: ReadonlyMap<string, Program> = new Map(programGroups.flatMap((group) => Object.entries(group)))

/** What is known about a program; nothing, if it is not listed. */
export function programNamed(name: string): Program {
  return programs.get(name) ?? unlisted
}

const unlisted: Program = {}

/** Whether an approval of this command may be kept. Never of programs that run what their words name. */
export function mayRemember(name: string, words: readonly string[]): boolean {
  if (shells.has(name) || wrappers.has(name) || opaqueWrappers.has(name) || stateChangingBuiltins.has(name))
    return false
  if (/^(python|perl|ruby|lua|php|node)[\d.]+$/.test(name)) return false
  const { forgets } = programNamed(name)
  return forgets === undefined || (forgets !== true && !forgets.test(words[0] ?? ''))
}
