import { memoizeList } from '../core/memoize.ts'
import { type Provider, plainProvider } from '../core/provider.ts'
import { imageMarker, withoutImages } from '../core/tool-output.ts'
import type { Message, SessionContentBlock } from '../core/turn.ts'

/** For a model without vision: images in the conversation become text markers in the request. */
export function withoutVision(provider: Provider): Provider {
  if (provider.meta.capabilities?.vision !== false) return provider
  return {
    ...plainProvider(provider),
    view: (messages) => withMarkers(provider.view?.(messages) ?? messages),
    stream: (request, signal) => provider.stream({ ...request, messages: withMarkers(request.messages) }, signal),
  }
}

const withMarkers = memoizeList((message: Message): Message => {
  const content = message.content.map(withoutImage)
  return content.every((block, i) => block === message.content[i]) ? message : { ...message, content }
})

function withoutImage(block: SessionContentBlock): SessionContentBlock {
  if (block.type === 'image') return { type: 'text', text: imageMarker(block) }
  if (block.type !== 'tool_result') return block
  const output = withoutImages(block.output)
  return output === block.output ? block : { ...block, output }
}
