import { oneLine } from '../../core/text.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { readFrontMatter, splitFrontMatter } from '../../skills/front-matter.ts'

/** A sub-agent that is a Markdown file: its text is the system prompt. */
export interface SubAgentFile {
  readonly name: string
  readonly description: string
  /** The tools it may use, of those that its parent has. Default: all of them. */
  readonly tools?: readonly string[]
  readonly withoutTools: readonly string[]
  readonly model?: string
  readonly system: string
}

/**
 * Reads a file. Fields of other agents that we do not have are ignored, unless they may be meant to make the sub-agent
 * narrower. Throws an error that says what is wrong.
 */
export async function parseSubAgent(file: string): Promise<SubAgentFile> {
  const parts = splitFrontMatter(file)
  if ('failure' in parts)
    throw new Error('it does not begin with --- and the fields name and description, followed by a line of ---')
  const { fields = new Map<string, unknown>(), failure } = await readFrontMatter(parts.yaml)
  if (failure !== undefined) throw new Error(failure)
  refuseUnknownLimits(fields)
  const name = textField(fields.get('name'))
  if (name === undefined || !/^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u.test(name))
    throw new Error(
      `its name must consist of at most 64 letters, digits, "-", "_" and ".", got ${JSON.stringify(visibleName(String(fields.get('name') ?? '')))}`,
    )
  const description = textField(fields.get('description'))
  if (description === undefined) throw new Error('it has no description: write what it is for, the model chooses by it')
  const system = parts.body.trim()
  if (system === '') throw new Error('it has no text: write what the sub-agent should know and do below the second ---')
  const model = textField(fields.get('model'))
  return {
    name,
    description: oneLine(visibleName(description), 200),
    ...(fields.has('tools') && { tools: toolsField(fields, 'tools') }),
    withoutTools: [...toolsField(fields, 'disallowedTools'), ...toolsField(fields, 'withoutTools')],
    ...(model !== undefined && !namesOfClaude.has(model) && { model }),
    system,
  }
}

/** Short names of Claude Code, which name no model of most providers: the parent's model is used. */
const namesOfClaude: ReadonlySet<string> = new Set(['inherit', 'default', 'sonnet', 'opus', 'haiku', 'fable'])

const textField = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/** Without what such a field says, the sub-agent could do more than its author meant. */
function refuseUnknownLimits(fields: ReadonlyMap<string, unknown>): void {
  for (const [field, value] of fields) {
    if (toolFields.includes(field) || !looksLikeLimit.test(field)) continue
    if (/^permissionMode$/i.test(field) && widerModes.has(String(value))) continue
    throw new Error(
      `we do not have its field ${JSON.stringify(visibleName(field))}, which may limit it; write what it may use as tools, or what it may not use as disallowedTools`,
    )
  }
}

const toolFields = ['tools', 'disallowedTools', 'withoutTools']
const looksLikeLimit = /tool|permission|allow|den(?:y|ied)|forbid|block|sandbox|read.?only|^hooks$|^isolation$/i

/** Modes of Claude Code that only take questions away: we ask all the same. */
const widerModes: ReadonlySet<string> = new Set(['default', 'acceptEdits', 'bypassPermissions'])

/** A list, or texts separated by commas that are not in parentheses: `Read, Bash(git log, git diff)`. */
function toolsField(fields: ReadonlyMap<string, unknown>, field: string): readonly string[] {
  const value = fields.get(field) ?? []
  const all: readonly unknown[] = typeof value === 'string' ? value.split(/,(?![^(]*\))/) : [value].flat()
  const entries = all.map((one) => (typeof one === 'string' ? one.trim() : one)).filter((one) => one !== '')
  return entries.map((entry) => {
    if (typeof entry === 'string' && toolEntry.test(entry)) return entry
    const shown = typeof entry === 'string' ? JSON.stringify(visibleName(entry)) : 'a list or a map inside'
    throw new Error(
      `its ${field} has ${shown}, which names no tool; write names with commas between them, as in "Read, Bash(git diff:*), mcp__github__*"`,
    )
  })
}

const toolEntry = /^(?:\*|mcp__[^\s()*|,]+__\*|[^\s()*|,]+(?:\s*\(.*\))?)$/s
