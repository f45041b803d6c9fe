import { memoize, memoizeList } from '../core/memoize.ts'
import { type ModelEvent, type ModelRequest, type Provider, plainProvider } from '../core/provider.ts'
import type { ToolSpec } from '../core/tool.ts'
import type { Message } from '../core/turn.ts'

/** Shows tools to the model under other names. The log keeps the canonical names, so a session works with other aliases too. */
export function withAliases(provider: Provider, aliases: Readonly<Record<string, string>>): Provider {
  const toWire = new Map(Object.entries(aliases))
  if (toWire.size === 0) return provider
  const toCanonical = new Map<string, string>()
  for (const [canonical, wire] of toWire) {
    if (typeof wire !== 'string' || wire === '')
      throw new TypeError(`toolAliases.${canonical} must be a name, got ${String(wire)}`)
    const other = toCanonical.get(wire)
    if (other !== undefined)
      throw new TypeError(`toolAliases: "${other}" and "${canonical}" cannot both be shown as "${wire}"`)
    toCanonical.set(wire, canonical)
  }

  const wireName = (name: string): string => toWire.get(name) ?? name
  const canonicalName = (name: string): string => toCanonical.get(name) ?? name

  const specs = memoize((tools: readonly ToolSpec[]): readonly ToolSpec[] => {
    const renamed = tools.map((tool) => (toWire.has(tool.name) ? { ...tool, name: wireName(tool.name) } : tool))
    const names = renamed.map(({ name }) => name)
    const duplicate = names.find((name, i) => names.indexOf(name) !== i)
    if (duplicate !== undefined)
      throw new TypeError(`toolAliases show two tools as "${duplicate}"; choose another alias`)
    return renamed
  })
  const messages = memoizeList((message: Message): Message => {
    const hasAlias = message.content.some((block) => block.type === 'tool_call' && toWire.has(block.name))
    if (!hasAlias) return message
    const content = message.content.map((block) =>
      block.type === 'tool_call' ? { ...block, name: wireName(block.name) } : block,
    )
    return { ...message, content }
  })

  function outbound(request: ModelRequest): ModelRequest {
    const { toolChoice } = request
    const choice = typeof toolChoice === 'object' && { toolChoice: { name: wireName(toolChoice.name) } }
    return { ...request, messages: messages(request.messages), tools: specs(request.tools), ...choice }
  }

  function inbound(event: ModelEvent): ModelEvent {
    if (event.type === 'tool_start') return { ...event, name: canonicalName(event.name) }
    if (event.type !== 'reply') return event
    const content = event.content.map((block) =>
      block.type === 'tool_call' ? { ...block, name: canonicalName(block.name) } : block,
    )
    return { ...event, content }
  }

  return {
    ...plainProvider(provider),
    displayName: (name) => (toWire.has(name) ? wireName(name) : (provider.displayName?.(name) ?? name)),
    async *stream(request, signal) {
      for await (const event of provider.stream(outbound(request), signal)) yield inbound(event)
    },
  }
}
