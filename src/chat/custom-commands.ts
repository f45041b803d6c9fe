import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SecurityMode } from '../authority/rules/settings.ts'
import { type MarkdownFile, markdownIn, markdownOfProject, readMarkdown } from '../authority/trust/markdown-files.ts'
import type { ProjectEntry } from '../authority/trust/project-entry.ts'
import { messageOf } from '../core/errors.ts'
import { oneLine } from '../core/text.ts'
import { visibleName } from '../platform/visible-text.ts'
import { readFrontMatter, splitFrontMatter } from '../skills/front-matter.ts'
import type { ModelChoice } from './chat.ts'
import type { ChatCommand, CommandContext } from './command.ts'
import { withFiles } from './with-files.ts'

/**
 * Loads the commands of the user, the project and this package. Of two with the same name the user's is used, then the
 * project's. A file that cannot be used is reported and left out.
 */
export async function loadCustomCommands({
  home,
  claudeHome,
  project,
  taken,
}: {
  /** The user's own Libero folder, which may have `commands`. */
  readonly home?: string
  /** The user's home folder, if commands of Claude Code count too: those in `.claude/commands`, of the project as well. */
  readonly claudeHome?: string
  /** Only what a person accepted of `.libero/commands` is read, as it was accepted. */
  readonly project?: ProjectEntry
  /** Names that no file may have: those of the commands in code. */
  readonly taken: Iterable<string>
}): Promise<{
  readonly commands: readonly ChatCommand[]
  /** Each in a sentence that begins with the path. */
  readonly problems: readonly string[]
}> {
  const ofClaude = '.claude/commands'
  const files: readonly CommandFile[] = [
    ...of('user', home === undefined ? [] : await markdownIn(join(home, 'commands'))),
    ...of('project', project ? await markdownOfProject(project, '.libero/commands', 'command') : []),
    ...(claudeHome === undefined
      ? []
      : [
          ...of('user', await markdownIn(join(claudeHome, ofClaude)), 'claude'),
          ...of('project', project ? await markdownOfProject(project, ofClaude, 'command') : [], 'claude'),
        ]),
    ...of('libero', await markdownIn(shippedFolder())),
  ]
  const names = new Set(taken)
  const commands: ChatCommand[] = []
  const problems: string[] = []
  for (const file of files) {
    const read = await readCommand(file, names)
    if (typeof read === 'string') problems.push(`${file.path} is left out: ${read}`)
    else if (read) {
      names.add(read.name)
      commands.push(customCommand(read))
    }
  }
  return { commands, problems }
}

export type CustomCommands = Awaited<ReturnType<typeof loadCustomCommands>>

interface CommandFile extends MarkdownFile {
  readonly from: CustomCommand['from']
  /** Written for Claude Code: fields that we do not have are ignored. */
  readonly dialect?: 'claude'
}

const of = (from: CustomCommand['from'], files: readonly MarkdownFile[], dialect?: 'claude'): CommandFile[] =>
  files.map((file) => ({ ...file, from, ...(dialect && { dialect }) }))

/** The command of a file, why it cannot be used, or undefined if an earlier file or a command in code has its name. */
async function readCommand(file: CommandFile, taken: ReadonlySet<string>): Promise<CustomCommand | string | undefined> {
  const name = file.name.replace(/\.md$/i, '').split('/').join(':').toLowerCase()
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_.-]*(?::[\p{L}\p{N}_.-]+)*$/u.test(name))
    return 'its name must consist of letters, digits, "-", "_" and "."'
  if (taken.has(name))
    return file.from === 'libero' || file.dialect ? undefined : `there is another command /${name}; rename the file`
  try {
    return await parseCustomCommand(await readMarkdown(file), { ...file, name })
  } catch (error) {
    return messageOf(error)
  }
}

/** Beside the `package.json` of this package, in its source as in what is published. */
function shippedFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  return join(folder, 'commands')
}

/** A command that is a Markdown file: its text becomes a message. */
interface CustomCommand {
  /** `commit`, or `git:commit` for a file in a folder. */
  readonly name: string
  readonly from: 'user' | 'project' | 'libero'
  readonly description: string
  readonly argument?: string
  /** `provider/model`, or the name of a model that can be chosen. */
  readonly model?: string
  readonly mode?: SecurityMode
  readonly text: string
}

const known = ['description', 'argument-hint', 'model', 'mode']

/** From the narrowest to the widest. No file leads to `yolo`. */
const modes = ['plan', 'ask', 'allowlist'] as const

/** Reads a file. Front matter may be absent; of a file for Claude Code, fields that we do not have and the model are ignored. Throws an error that says what is wrong with it. */
async function parseCustomCommand(
  file: string,
  { name, from, dialect }: Pick<CustomCommand, 'name' | 'from'> & { readonly dialect?: 'claude' },
): Promise<CustomCommand> {
  const parts = /^\uFEFF?---[ \t]*\r?\n/.test(file) ? splitFrontMatter(file) : { yaml: '', body: file }
  if ('failure' in parts) throw new Error(parts.failure)
  const { fields = new Map<string, unknown>(), failure } = await readFrontMatter(quoteHint(parts.yaml))
  if (failure !== undefined) throw new Error(failure)
  const unknown = [...fields.keys()].find((field) => !known.includes(field))
  if (unknown !== undefined && dialect === undefined)
    throw new Error(`its field "${visibleName(unknown)}" is none of ${known.join(', ')}`)
  const text = parts.body.trim()
  if (text === '') throw new Error('it has no text to send')
  const mode = modes.find((one) => one === fields.get('mode'))
  if (fields.has('mode') && mode === undefined) throw new Error(`its mode must be one of ${modes.join(', ')}`)
  const hint = textField(fields.get('argument-hint'))
  const model = dialect ? undefined : textField(fields.get('model'))
  return {
    name,
    from,
    text,
    description: textField(fields.get('description')) ?? oneLine(text, 80),
    ...((hint !== undefined || takesArgument(text)) && { argument: hint ?? '[text]' }),
    ...(model !== undefined && { model }),
    ...(mode && { mode }),
  }
}

/** People write `argument-hint: [type] [text]`, which is no YAML. */
const quoteHint = (yaml: string): string =>
  yaml.replace(/^argument-hint:[ \t]*(\[.*)$/m, (_, hint: string) => `argument-hint: ${JSON.stringify(hint.trim())}`)

function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? oneLine(visibleName(value), 200) : undefined
}

const origins = { user: 'yours', project: 'of the project', libero: 'shipped' } as const

export function customCommand(custom: CustomCommand): ChatCommand {
  const { name, from, description, argument } = custom
  return {
    name,
    summary: `${description} (${origins[from]})`,
    ...(argument !== undefined && { argument }),
    async run(given, context) {
      const { chat } = context
      await applySettings(custom, context)
      const typed = given === '' ? `/${name}` : `/${name} ${given}`
      const text = fillIn(custom.text, given)
      const { parts = [{ type: 'text', text }] } = await withFiles({ text }, context)
      await chat.send({ text: typed, parts })
    },
  }
}

/** A file of a project may make the mode narrower, never wider. */
async function applySettings(
  { name, model, mode, from }: CustomCommand,
  { chat, screen }: CommandContext,
): Promise<void> {
  const { mode: present } = chat.state.settings
  const isNarrower = mode !== undefined && present !== undefined && widthOf(mode) < widthOf(present)
  const changed = mode !== present && (isNarrower || from === 'user') ? mode : undefined
  const chosen = model === undefined ? undefined : await modelNamed(model, await chat.models())
  if (changed === undefined && !chosen) return
  await chat.set({ ...(changed && present !== undefined && { mode: changed }), ...(chosen && { model: chosen }) })
  const words = [...(chosen ? [`model ${chosen.model}`] : []), ...(changed ? [`mode ${changed}`] : [])]
  screen.print(`/${name} sets ${words.join(' and ')}; it stays until you change it`)
}

const widthOf = (mode: SecurityMode): number => (mode === 'yolo' ? modes.length : modes.indexOf(mode))

async function modelNamed(name: string, models: readonly ModelChoice[]): Promise<ModelChoice> {
  const found = models.find(({ provider, model }) => model === name || `${provider}/${model}` === name)
  const [, provider, model] = /^([^/\s]+)\/(\S+)$/.exec(name) ?? []
  if (found) return found
  if (provider !== undefined && model !== undefined) return { provider, model }
  throw new Error(
    `The command wants the model "${name}", which is not available; write it as provider/model in its file`,
  )
}

const placeholder = /\$(ARGUMENTS|[1-9])(?![\w])/g
const takesArgument = (text: string): boolean => text.search(placeholder) >= 0

/** Puts the argument into the text: `$ARGUMENTS` is all of it, `$1` its first word; without either it follows the text. */
export function fillIn(text: string, argument: string): string {
  if (!takesArgument(text)) return argument === '' ? text : `${text}\n\n${argument}`
  const words = wordsOf(argument)
  return text
    .replace(placeholder, (_, name: string) => (name === 'ARGUMENTS' ? argument : (words[Number(name) - 1] ?? '')))
    .trim()
}

/** Words in quotes stay together. */
function wordsOf(argument: string): readonly string[] {
  const found = [...argument.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
  return found.map(([, double, single, plain]) => double ?? single ?? plain ?? '')
}
