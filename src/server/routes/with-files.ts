import { attachFiles } from '../../chat/attach-files.ts'
import { withoutAttached } from '../../chat/attached-text.ts'
import type { SessionSummary } from '../../core/store.ts'
import type { PromptPart } from '../../core/turn.ts'
import type { Call } from '../route.ts'

/** A message with the files that its text names with `@`, and what was not attached, in words. */
export async function withFiles(
  { server }: Pick<Call, 'server'>,
  summary: SessionSummary,
  content: unknown,
): Promise<{ readonly content: unknown; readonly notices?: readonly string[] }> {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly PromptPart[])
  // What an attached file says with `@` names no file.
  const text = withoutAttached(parts as readonly PromptPart[])
    .flatMap((part) => (part.type === 'text' ? [String(part.text)] : []))
    .join('\n')
  if (!text.includes('@')) return { content }
  return server.workspaces.use(summary, async ({ workspace, session }) => {
    const { execution, authority } = workspace
    // Without an authority a client could read what the agent itself may not.
    if (!execution || !authority) return { content }
    const folder = (await workspace.settings?.(session))?.folder
    const { message, notices } = await attachFiles(
      { text, parts: parts as readonly PromptPart[] },
      {
        agent: { execution, handle: undefined, session },
        authority,
        settings: { ...(folder !== undefined && { folder }) },
      },
    )
    return { content: message.parts, notices }
  })
}
