import { withoutHidden } from '../platform/visible-text.ts'

/** What a text is made of, as its author wrote it. */
export type Part = { readonly text: string } | { readonly command: string; readonly written: string }

/** How the parts of a text become what a model reads. */
export interface FillOptions {
  /** What the user or the model said beside the skill's name. Only text gets it, never a command. */
  readonly args?: string
  /** The output of a command, or a note in its place. */
  run(command: string): Promise<string>
}

/** The commands a text wants to have run, `` !`like this` ``, and what stands between them. */
export function partsOf(text: string): readonly Part[] {
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
export async function fillPlaceholders(text: string, filling: FillOptions): Promise<string> {
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

export const mostCommands = 20
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
