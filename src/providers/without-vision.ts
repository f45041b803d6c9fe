import { memoizeList } from '../core/memoize.ts'
import { type Provider, plainProvider } from '../core/provider.ts'
import { imageMarker, withoutImages } from '../core/tool-output.ts'
import type { Message, SessionContentBlock } from '../core/turn.ts'

/** For a model that cannot see: images of an earlier, seeing model become text markers in the request. */
export function withoutVision(provider: Provider): Provider {
  if (provider.meta.capabilities?.vision !== false) return provider
  return {
    ...plainProvider(provider),
    view: (messages) => blind(provider.view?.(messages) ?? messages),
    stream: (request, signal) => provider.stream({ ...request, messages: blind(request.messages) }, signal),
  }
}

const blind = memoizeList((message: Message): Message => {
  const content = message.content.map(blindBlock)
  return content.every((block, i) => block === message.content[i]) ? message : { ...message, content }
})

function blindBlock(block: SessionContentBlock): SessionContentBlock {
  if (block.type === 'image') return { type: 'text', text: imageMarker(block) }
  if (block.type !== 'tool_result') return block
  const output = withoutImages(block.output)
  return output === block.output ? block : { ...block, output }
}
