import { constants, type Stats } from 'node:fs'
import { access, lstat, opendir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isWithin } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { instructionFiles } from './instructions.ts'

/** The kind of an item. */
export type ItemKind = 'tool' | 'skill' | 'agent' | 'command' | 'settings' | 'mcp' | 'instructions'

/** An item of a project, found by name. */
export interface ProjectName {
  /** The path from the project folder, with `/`; only instructions may lie above it. */
  readonly id: string
  readonly kind: ItemKind
  readonly path: string
}

/** The items of a project, found by name. */
export interface ProjectNames {
  readonly names: readonly ProjectName[]
  readonly notes: readonly string[]
}

const single: readonly (readonly [string, ItemKind])[] = [
  ['.mcp.json', 'mcp'],
  ['.libero/authority.json', 'settings'],
  ['.libero/config.json', 'settings'],
  ['.libero/mcp.json', 'mcp'],
]
const folders: readonly (readonly [string, ItemKind])[] = [
  ['.libero/tools', 'tool'],
  ['.libero/skills', 'skill'],
  ['.libero/agents', 'agent'],
  ['.libero/commands', 'command'],
  ['.agents/skills', 'skill'],
]
/** Which folders of Claude Code count too. */
export interface ClaudeSearch {
  /** Skills in `.claude/skills`. */
  readonly claudeSkills?: boolean
  /** Sub-agents in `.claude/agents` and commands in `.claude/commands`. */
  readonly claudeFiles?: boolean
}

const foldersOf = ({ claudeSkills, claudeFiles }: ClaudeSearch): readonly (readonly [string, ItemKind])[] => [
  ...folders,
  ...(claudeSkills ? ([['.claude/skills', 'skill']] as const) : []),
  ...(claudeFiles
    ? ([
        ['.claude/agents', 'agent'],
        ['.claude/commands', 'command'],
      ] as const)
    : []),
]
const mostNames = 500

/** Whether a folder has items that can run code or steer the model; an empty `.libero` counts. Opens no file. */
export async function isProject(root: string, search: ClaudeSearch = {}): Promise<boolean> {
  const shared = foldersOf(search).flatMap(([id]) => (id.startsWith('.libero/') ? [] : [id]))
  const names = ['.libero', '.mcp.json', ...shared]
  const found = await Promise.all(names.map((name) => infoOf(join(root, name))))
  return found.some((info) => info !== undefined) || (await instructionFiles(root)).length > 0
}

/** What a project brings, from the names in its folders: no file is opened. */
export async function projectNames(root: string, search: ClaudeSearch = {}): Promise<ProjectNames> {
  const names: ProjectName[] = []
  const notes: string[] = []
  const own = await ownFolder(root, '.libero', notes)
  for (const [id, kind] of single) {
    if ((own || !id.startsWith('.libero/')) && (await infoOf(join(root, id))))
      names.push({ id, kind, path: join(root, id) })
    if (id === '.mcp.json')
      for (const file of await instructionFiles(root)) names.push({ ...file, kind: 'instructions' })
  }
  for (const [id, kind] of foldersOf(search)) {
    if ((!own && id.startsWith('.libero/')) || !(await ownFolder(root, id, notes))) continue
    const found = await namesIn(join(root, id)).catch((error) => `cannot be read (${codeOf(error)})`)
    if (typeof found === 'string') notes.push(`${id} ${found} and is left out.`)
    else names.push(...found.map((name) => ({ id: `${id}/${name}`, kind, path: join(root, id, name) })))
  }
  return { names, notes }
}

/** The items in words, for a prompt. */
export function describeNames({ names, notes }: ProjectNames): string {
  const lines = names.map(({ id, kind }) => `- ${kind}: ${fullyVisible(id)}`)
  if (lines.length + notes.length === 0)
    return '- nothing yet: it has no instructions, settings, tools or skills of its own'
  return [...lines, ...notes.map((note) => `- ${note}`)].join('\n')
}

/** The names in a folder; a text if there are too many to choose among. */
async function namesIn(folder: string): Promise<readonly string[] | string> {
  const names: string[] = []
  for await (const { name } of await opendir(folder)) {
    if (names.length === mostNames) return `has more than ${mostNames} entries`
    names.push(name)
  }
  return names.filter((name) => !name.startsWith('.')).sort()
}

/** Whether this is a readable folder inside the project. Notes the reason otherwise. */
async function ownFolder(root: string, id: string, notes: string[]): Promise<boolean> {
  const path = join(root, id)
  if (!(await infoOf(path))) return false
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await stat(real)).isDirectory()) notes.push(`${id} is not a folder and is left out.`)
  else if (!isWithin(root, real))
    notes.push(`${id} is a link that leads out of the project, to ${fullyVisible(real)}, and is left out.`)
  else if (await canEnter(real)) return true
  else notes.push(`${id} cannot be read and is left out.`)
  return false
}

function canEnter(folder: string): Promise<boolean> {
  return access(folder, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function infoOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}
