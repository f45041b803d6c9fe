import { messageOf } from '../core/errors.ts'
import type { Run } from '../core/run.ts'
import { headOf } from '../core/text.ts'
import type { ToolContext } from '../core/tool.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { visibleName, withoutHidden } from '../platform/visible-text.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { listResources, readInstructions } from './skill-files.ts'

interface Activation {
  readonly skill: Skill
  readonly config: SkillsConfig
  readonly args?: string
  /** Runs a command. If absent, commands stay as written, with a note. */
  readonly run?: (command: string) => Promise<string>
}

/** The text the model gets for a skill: its current file, with its commands run. */
export async function readActivation({ skill, config, args, run = notRun }: Activation): Promise<string> {
  await requireTrust(skill, config)
  const instructions = await readInstructions(skill)
  // Checked again, because the file may have changed between the check and the read.
  await requireTrust(skill, config)
  const text = await fillPlaceholders(instructions, { run, ...(args !== undefined && { args }) })
  return skillContent(skill, text, skill.folder === undefined ? [] : await listResources(skill.folder))
}

async function notRun(command: string): Promise<string> {
  return `!\`${command}\` [not run yet: call skills_use for this skill to have its commands run]`
}

/** Runs commands as calls of the shell tool, with the same gates, authority and execution context. */
export function commandsOf(
  skill: Skill,
  run: Run,
  ctx: Pick<ToolContext, 'call'>,
): (command: string) => Promise<string> {
  const shell = run.tools.get(shellName)
  return async (command) => {
    if (!shell?.commandLine) return `!\`${command}\` [not run: there is no tool here that runs commands]`
    const line = withFolder(command, skill, run)
    if (line === undefined) return `!\`${command}\` [not run: the skill's folder cannot be named in a command here]`
    const { output, isError } = await ctx.call(shellName, { command: line, ...limitsOf(shell.spec.inputSchema) })
    const text = toolResultToText(output).trim()
    return isError ? `[the command ${command} was refused or failed: ${text}]` : text
  }
}

const shellName = 'shell'

/** Commands only provide information, so they get less time and output than the model's own. */
function limitsOf({ properties }: Readonly<Record<string, unknown>>): object {
  const isOurs = typeof properties === 'object' && properties !== null && 'timeout' in properties
  return isOurs ? { timeout: 20_000, maxOutputBytes: 16_384, metadata: false } : {}
}

/** Inserts the folder into a command only if its name contains no special characters. */
function withFolder(command: string, { folder }: Skill, { host: { execution } }: Run): string | undefined {
  if (command.search(folderName) < 0) return command
  const isHere = execution?.capabilities.hostPrograms === true
  if (folder === undefined || !isHere || !/^[\w./@+-]+$/.test(folder)) return undefined
  return command.replace(folderName, () => folder)
}

const folderName = /\$(?:\{(?:CLAUDE_)?SKILL_DIR\}|(?:CLAUDE_)?SKILL_DIR\b)/g

type Part = { readonly text: string } | { readonly command: string; readonly written: string }

interface FillOptions {
  /** The arguments of the skill. They are inserted into text only, never into a command. */
  readonly args?: string
  run(command: string): Promise<string>
}

/** Splits a text into commands, `` !`like this` ``, and the text between them. */
function partsOf(text: string): readonly Part[] {
  const parts: Part[] = []
  let end = 0
  for (const match of text.matchAll(placeholder)) {
    const [written, command = ''] = match
    parts.push({ text: text.slice(end, match.index) }, { command, written })
    end = match.index + written.length
  }
  return [...parts, { text: text.slice(end) }]
}

// A `!` that ends a code span, as in `a!` and `b`, is not a command; nor is one after a backslash.
const placeholder = /(?<![^\s([{:=>"'*_|,])!`(?=\S)([^`\n]{1,4000})(?<=\S)`/g

/**
 * Replaces commands by their output. Each runs once. Only the author's text is scanned: the output of a command and the
 * arguments are never read as placeholders.
 */
async function fillPlaceholders(text: string, filling: FillOptions): Promise<string> {
  const filled: string[] = []
  let commands = 0
  for (const part of partsOf(text)) {
    if ('text' in part) filled.push(withArguments(part.text, filling.args))
    else if (++commands > mostCommands)
      filled.push(`${part.written} [not run: a skill may have ${mostCommands} commands]`)
    else if (wantsArguments.test(part.command)) filled.push(`${part.written} ${noArguments}`)
    else filled.push(bounded(await filling.run(part.command)))
  }
  return filled.join('') + unusedArguments(text, filling)
}

/** Arguments without a placeholder are appended. */
function unusedArguments(text: string, { args = '' }: FillOptions): string {
  const isUsed = partsOf(text).some((part) => 'text' in part && part.text.search(inText) >= 0)
  return args === '' || isUsed ? '' : `\n\nArguments: ${args}`
}

const inText = /\$(ARGUMENTS\b|[1-9](?!\d))/g

const mostCommands = 20
const mostOutput = 16_384

/** `$ARGUMENTS`, `${ARGUMENTS}`, `$1`, `${1}`, `$@`, `$*`. */
const wantsArguments = /\$(?:\{?(?:ARGUMENTS|[1-9])\b|[@*])/
// Inserted into a line, an argument could become a command; without its arguments, the line could mean something else.
const noArguments = '[not run: arguments are never put into a command; run it yourself, with the arguments quoted]'

function withArguments(text: string, args: string | undefined): string {
  if (args === undefined) return text
  const words = args.split(/\s+/).filter((word) => word !== '')
  return text.replace(inText, (_, name: string) => (name === 'ARGUMENTS' ? args : (words[Number(name) - 1] ?? '')))
}

function bounded(output: string): string {
  const { text } = withoutHidden(output)
  const trimmed = text.replace(/\s+$/, '')
  return trimmed.length > mostOutput ? `${trimmed.slice(0, mostOutput)}\n[cut: ${trimmed.length} characters]` : trimmed
}

/** The text of a skill for the model, between tags that its content cannot close. */
function skillContent(skill: Skill, instructions: string, resources: readonly string[]): string {
  const { name, folder, compatibility, allowedTools } = skill
  const facts = [
    ...(folder === undefined
      ? []
      : [`Skill directory: ${visibleName(folder)}`, 'Relative paths are meant from there.']),
    ...(compatibility === undefined ? [] : [`Compatibility: ${compatibility}`]),
    ...(allowedTools === undefined ? [] : [`Allowed tools while it is active: ${allowedTools.join(' ') || 'none'}`]),
    ...(resources.length === 0 ? [] : [resourceList(resources)]),
  ]
  const inside = [cut(instructions.trim()), ...(facts.length > 0 ? [facts.join('\n')] : [])].join('\n\n')
  return `<skill_content name="${attribute(name)}">\n${escapeOwnTags(inside)}\n</skill_content>`
}

/** Longer instructions would leave no room for the work. */
const mostInstructions = 200_000

function cut(text: string): string {
  if (text.length <= mostInstructions) return text
  return `${headOf(text, mostInstructions)}\n[cut: ${text.length - mostInstructions} more characters]`
}

function resourceList(resources: readonly string[]): string {
  const files = resources.map((path) => `- ${visibleName(path)}`)
  return `Files (skills_read shows one, skills_run_script runs a script):\n${files.join('\n')}`
}

/** Escapes only our own tags: instructions contain code. */
const escapeOwnTags = (text: string): string => text.replace(/<(?=\s*\/?\s*skill_content)/gi, '&lt;')

const attribute = (text: string): string => visibleName(text).replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Throws unless a skill may be used now. Skills of a project are checked each time, because trust can be revoked. */
export async function requireTrust(skill: Skill, { trustProjectSkills = true }: SkillsConfig): Promise<void> {
  if (skill.source !== 'project') return
  const refused = `The skill "${skill.name}" comes from this project`
  if (typeof trustProjectSkills === 'boolean') {
    if (!trustProjectSkills) throw new Error(`${refused}, whose skills are not trusted (skills.trustProjectSkills)`)
    return
  }
  let isTrusted: unknown
  try {
    isTrusted = await trustProjectSkills(skill.entry ?? skill.folder ?? '')
  } catch (error) {
    throw new Error(`${refused}, and whether it is trusted could not be found out: ${messageOf(error)}`)
  }
  if (isTrusted !== true) throw new Error(`${refused}, and it is not trusted as it is now; have a person look at it`)
}
