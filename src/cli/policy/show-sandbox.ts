import { placementText } from '../../authority/confinement.ts'
import type { SecurityMode } from '../../authority/rules/settings.ts'
import type { Confinement } from '../../core/execution.ts'
import { protectionOf } from '../../execution/bubblewrap/protected-paths.ts'
import { createFactFinder } from '../../execution/confinement/facts.ts'
import { closedView } from '../../execution/confinement/profile.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { sandboxPathsOf } from '../assembly/sandbox-paths.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { explainHere } from './explain-here.ts'

interface SandboxValues {
  readonly mode?: SecurityMode
  readonly json?: boolean
}

/** `libero sandbox`: whether there is one, and what a command can read and write in it. */
export async function showSandbox({ values, words }: Args<SandboxValues>, io: Io): Promise<number> {
  const command = words.join(' ') || 'ls'
  const { explanation, sandbox, config } = await explainHere(command, io, values)
  const { confinement, verdict, why } = explanation
  const view = typeof confinement === 'object' && confinement ? await viewOf(confinement, config, io) : undefined
  if (values.json) {
    io.out(jsonText({ ...sandbox, command, verdict, confinement, ...view }))
    return exitCodes.done
  }
  const print = (line: string): void => io.out(fullyVisible(line))
  print(sandbox.profiles.length > 0 ? `sandbox: ${sandbox.by}` : `no sandbox: ${sandbox.why}`)
  const asked = verdict === 'ask' ? ', if a person allows it' : ''
  if (verdict === 'deny') print(`\`${command}\` would be refused: ${why}`)
  else print(`\`${command}\` would run ${placementText(confinement ?? 'outside')}${asked}`)
  for (const [title, paths] of Object.entries(view ?? {})) {
    if (paths.length > 0) print(`${titles[title as keyof SandboxView]}:`)
    for (const line of grouped(paths)) print(`  ${line}`)
  }
  return exitCodes.done
}

/** The many single files of `/etc` on one line. */
function grouped(paths: readonly string[]): string[] {
  const inEtc = paths.filter((path) => path.startsWith('/etc/'))
  if (inEtc.length < 2) return [...paths]
  const others = paths.filter((path) => !inEtc.includes(path))
  return [...others, `/etc: ${inEtc.map((path) => path.slice('/etc/'.length)).join(', ')}`]
}

const titles: Readonly<Record<keyof SandboxView, string>> = {
  reads: 'can be read',
  writes: 'can be written',
  temporary: 'empty at first, and gone afterwards',
  protected: 'cannot be changed, although it lies in what can be written',
  hidden: 'hidden',
}

/** Paths on this machine, by what a command can do with them. What is not named does not exist for it. */
interface SandboxView {
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  readonly temporary: readonly string[]
  readonly protected: readonly string[]
  readonly hidden: readonly string[]
}

async function viewOf(confinement: Confinement, config: Config, io: Io): Promise<SandboxView> {
  const added = sandboxPathsOf(config, io)
  const finder = createFactFinder({ cwd: io.cwd, roots: [], home: io.userHome, added })
  const found = await finder.find(confinement)
  const { base, hidden } = closedView(found)
  const isWriting = confinement.profile === 'workspace-write'
  const roots = isWriting ? finder.writable() : []
  const of = (how: string): string[] => base.flatMap((mount) => (mount.how === how ? [mount.path] : []))
  const writes = [...new Set([...roots, ...confinement.writes, ...of('write')])]
  const reads = [...new Set([...found.workspace, ...of('read')])]
  return {
    reads: reads.filter((path) => !writes.includes(path)).sort(),
    writes: writes.sort(),
    temporary: of('memory').sort(),
    protected: roots.flatMap((root) => protectionOf(root, { free: [] }).existing).sort(),
    hidden: hidden.map(({ path }) => path).sort(),
  }
}
