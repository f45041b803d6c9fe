import type { Run } from '../core/run.ts'
import type { ToolContext } from '../core/tool.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { fillPlaceholders } from './placeholders.ts'
import { readInstructions } from './read-instructions.ts'
import { listResources } from './resources.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { skillContent } from './skill-content.ts'
import { requireTrust } from './skill-trust.ts'

/** How a skill becomes active. */
export interface Activation {
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
