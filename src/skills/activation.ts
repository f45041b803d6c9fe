import { messageOf } from '../core/errors.ts'
import type { Run } from '../core/run.ts'
import type { ToolContext } from '../core/tool.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { visibleName, withoutHidden } from '../platform/visible-text.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { listResources, readInstructions } from './skill-files.ts'

/** How a skill becomes active. */
interface Activation {
  readonly skill: Skill
  readonly config: SkillsConfig
  readonly args?: string
  /** Absent where nobody can judge a command yet; then it stays as it is written, with a note. */
  readonly run?: (command: string) => Promise<string>
}

/** What the model gets of a skill that becomes active now: its file as it is now, its commands run anew. */
export async function readActivation({ skill, config, args, run = notRun }: Activation): Promise<string> {
  await requireTrust(skill, config)
  const instructions = await readInstructions(skill)
  // What was read may not be what was trusted: a digest is compared after the reading.
  await requireTrust(skill, config)
  const text = await fillPlaceholders(instructions, { run, ...(args !== undefined && { args }) })
  return skillContent(skill, text, skill.folder === undefined ? [] : await listResources(skill.folder))
}

async function notRun(command: string): Promise<string> {
  return `!\`${command}\` [not run yet: call skills_use for this skill to have its commands run]`
}

/** Runs commands as calls of the shell tool: the same gates, the same authority, the same place as for any other. */
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

/** A command is to inform, not to work: it gets less time and room than the model's own. */
function limitsOf({ properties }: Readonly<Record<string, unknown>>): object {
  const isOurs = typeof properties === 'object' && properties !== null && 'timeout' in properties
  return isOurs ? { timeout: 20_000, maxOutputBytes: 16_384, metadata: false } : {}
}

/** The folder's name becomes part of a command only where it cannot be anything but a name. */
function withFolder(command: string, { folder }: Skill, { host: { execution } }: Run): string | undefined {
  if (command.search(folderName) < 0) return command
  const isHere = execution?.capabilities.hostPrograms === true
  if (folder === undefined || !isHere || !/^[\w./@+-]+$/.test(folder)) return undefined
  return command.replace(folderName, () => folder)
}

const folderName = /\$(?:\{(?:CLAUDE_)?SKILL_DIR\}|(?:CLAUDE_)?SKILL_DIR\b)/g

/** What a text is made of, as its author wrote it. */
type Part = { readonly text: string } | { readonly command: string; readonly written: string }

/** How the parts of a text become what a model reads. */
interface FillOptions {
  /** What the user or the model said beside the skill's name. Only text gets it, never a command. */
  readonly args?: string
  /** The output of a command, or a note in its place. */
  run(command: string): Promise<string>
}

/** The commands a text wants to have run, `` !`like this` ``, and what stands between them. */
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

// The `!` that ends a piece of code, as in `a!` and `b`, is none; nor is one behind a backslash.
const placeholder = /(?<![^\s([{:=>"'*_|,])!`(?=\S)([^`\n]{1,4000})(?<=\S)`/g

/**
 * The text with its commands replaced by their output. Each is run once, and only what the author wrote is looked at:
 * what comes out of a command, or in as an argument, is never read as a placeholder.
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

/** Arguments that no text asks for are told at its end. */
function unusedArguments(text: string, { args = '' }: FillOptions): string {
  const isUsed = partsOf(text).some((part) => 'text' in part && part.text.search(inText) >= 0)
  return args === '' || isUsed ? '' : `\n\nArguments: ${args}`
}

const inText = /\$(ARGUMENTS\b|[1-9](?!\d))/g

const mostCommands = 20
const mostOutput = 16_384

/** `$ARGUMENTS`, `${ARGUMENTS}`, `$1`, `${1}`, `$@`, `$*`. */
const wantsArguments = /\$(?:\{?(?:ARGUMENTS|[1-9])\b|[@*])/
// Pasted into a line, an argument could become a command; run without them, the line could mean something else.
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

/** What a model is given of a skill, between tags that nothing inside can close. */
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
  return `<skill_content name="${attribute(name)}">\n${sealed(inside)}\n</skill_content>`
}

/** Beyond this, instructions leave no room for the work. */
const mostInstructions = 200_000

function cut(text: string): string {
  if (text.length <= mostInstructions) return text
  return `${text.slice(0, mostInstructions)}\n[cut: ${text.length - mostInstructions} more characters]`
}

function resourceList(resources: readonly string[]): string {
  const files = resources.map((path) => `- ${visibleName(path)}`)
  return `Files (skills_read shows one, skills_run_script runs a script):\n${files.join('\n')}`
}

/** Only our own tags are escaped: instructions are full of code. */
const sealed = (text: string): string => text.replace(/<(?=\s*\/?\s*skill_content)/gi, '&lt;')

const attribute = (text: string): string => visibleName(text).replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Throws unless a skill may be used now: what a project brings is asked about each time, because trust can be taken back. */
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
