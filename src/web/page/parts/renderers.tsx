import type { ComponentChildren } from 'preact'
import { type AgentInstanceMessage, createRendererRegistry, messageKinds, visibleText } from '../libero.ts'
import type { DiffViewProps } from './diff-view.tsx'
import { lazy } from './lazy.tsx'
import { Markdown } from './markdown.tsx'

const Wikitext = lazy<{ readonly text: string }>(async () => (await import('./wikitext.tsx')).Wikitext)
/** A diff; its code is loaded with the first one. */
export const Diff = lazy<DiffViewProps>(async () => (await import('./diff-view.tsx')).DiffView)

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
    return <Diff diff={typeof diff === 'string' ? diff : content} />
  },
})

interface ShownContent extends Pick<AgentInstanceMessage, 'id' | 'role' | 'content' | 'contentType' | 'metadata'> {
  readonly isOpen?: boolean
}

/** Draws a content with the renderer that fits it. */
export function renderContent({ isOpen = false, metadata, ...content }: ShownContent): ComponentChildren {
  return renderers.render({ agentId: 'session', ...content, metadata: { ...metadata, isComplete: !isOpen } })
}
