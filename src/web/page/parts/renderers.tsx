import type { ComponentChildren } from 'preact'
import { type AgentInstanceMessage, createRendererRegistry, messageKinds, visibleText } from '../libero.ts'
import { DiffView } from './diff-view.tsx'
import { Markdown } from './markdown.tsx'
import { Wikitext } from './wikitext.tsx'

/** What draws answers, results and, since `cards/pending-card.tsx`, what waits for a person. Embedders add theirs to it. */
export const renderers = createRendererRegistry<ComponentChildren>({
  text: ({ content }) => <pre class="output">{visibleText(content)}</pre>,
  onError: (error, { renderer }) => console.warn(`libero: the renderer ${renderer} failed:`, error),
})

renderers.register({
  ...messageKinds.markdown,
  render: ({ content, metadata }) => <Markdown text={content} isOpen={metadata?.isComplete === false} />,
})
renderers.register({ ...messageKinds.wikitext, render: ({ content }) => <Wikitext text={content} /> })
renderers.register({
  ...messageKinds.diff,
  render: ({ content, metadata }) => {
    const { diff } = (metadata?.details ?? {}) as { readonly diff?: unknown }
    return <DiffView diff={typeof diff === 'string' ? diff : content} />
  },
})

interface ShownContent extends Pick<AgentInstanceMessage, 'id' | 'role' | 'content' | 'contentType' | 'metadata'> {
  readonly isOpen?: boolean
}

/** Draws a content with the renderer that fits it. */
export function renderContent({ isOpen = false, metadata, ...content }: ShownContent): ComponentChildren {
  return renderers.render({ agentId: 'session', ...content, metadata: { ...metadata, isComplete: !isOpen } })
}
