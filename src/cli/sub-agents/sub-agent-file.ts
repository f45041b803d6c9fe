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

/** Reads a file. Fields of other agents that we do not have are ignored: none of them makes a sub-agent narrower. Throws an error that says what is wrong. */
export async function parseSubAgent(file: string): Promise<SubAgentFile> {
  const parts = splitFrontMatter(file)
  if ('failure' in parts)
    throw new Error('it does not begin with --- and the fields name and description, followed by a line of ---')
  const { fields = new Map<string, unknown>(), failure } = await readFrontMatter(parts.yaml)
  if (failure !== undefined) throw new Error(failure)
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
    ...(fields.has('tools') && { tools: listField(fields.get('tools')) }),
    withoutTools: listField(fields.get('disallowedTools') ?? fields.get('withoutTools')),
    ...(model !== undefined && !namesOfClaude.has(model) && { model }),
    system,
  }
}

/** Short names of Claude Code, which name no model of most providers: the parent's model is used. */
const namesOfClaude: ReadonlySet<string> = new Set(['inherit', 'default', 'sonnet', 'opus', 'haiku', 'fable'])

const textField = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/** A list, or texts separated by commas that are not in parentheses: `Read, Bash(git log, git diff)`. */
function listField(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/,(?![^(]*\))/) : []
  return all.map((one) => one.trim()).filter((one) => one !== '')
}
