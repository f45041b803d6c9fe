import type { ModelRequest } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { Message } from '../../core/turn.ts'
import { callText } from './spoken-call.ts'
import { parallelTag } from './text-call-pattern.ts'
import { toolListText } from './tool-list-text.ts'

/** What a model is told that can call tools only in its text. */
export function textToolPrompt(tools: readonly ToolSpec[]): string {
  return `# Tools

You can call the tools below. To call one, write its name and its parameters, as one JSON object, in this form:

${callText('tool_name', '{"parameter":"value"}')}

Write the form as it is, not in a code block. You may say something before it. After your calls stop and wait: what they gave comes in the next message, in <functions_result> blocks. Never write such a block yourself.

Several calls in one answer run one after another. Calls that do not depend on each other may run together:

<${parallelTag}>
${callText('tool_name', '{"parameter":"first"}')}
${callText('tool_name', '{"parameter":"second"}')}
</${parallelTag}>

${toolListText(tools)}`
}

/** The conversation with a last word on which tool must be called, or that none may be; its beginning stays as it is. */
export function withChoice(messages: readonly Message[], choice: ModelRequest['toolChoice']): readonly Message[] {
  if (choice === undefined) return messages
  const said = { type: 'text', text: choiceText(choice) } as const
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [said] }]
  return [...messages.slice(0, -1), { ...last, content: [...last.content, said] }]
}

function choiceText(choice: NonNullable<ModelRequest['toolChoice']>): string {
  if (choice === 'none') return 'Answer this time without calling a tool.'
  return `Answer this time with one call of the tool ${choice.name} and nothing else: ${callText(choice.name, '{…}')}`
}
