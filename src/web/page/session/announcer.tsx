import { useEffect, useState } from 'preact/hooks'
import { createMarkdownBlocks } from '../parts/markdown-blocks.ts'
import { useSessionScreen } from './session-context.ts'

/** Tells those who hear the page what is new: finished paragraphs and what waits for them, never single words. */
export function Announcer() {
  const { session } = useSessionScreen()
  const [said, setSaid] = useState<readonly string[]>([])
  useEffect(() => {
    let blocks = createMarkdownBlocks()
    let answer: string | undefined
    let told = 0
    let waits = new Set<string>()
    let head = session.state.view.head
    const say = (...texts: readonly string[]): void => {
      const spoken = texts.map((text) => text.trim().slice(0, 1000)).filter((text) => text !== '')
      if (spoken.length > 0) setSaid((before) => [...before, ...spoken].slice(-10))
    }
    return session.subscribe(() => {
      const { view, isWhole, pastSeq } = session.state
      const isNews = isWhole && pastSeq === undefined && view.head >= head
      head = view.head
      const end = view.rows.slice(-30)
      const row = end.findLast((one) => one.kind === 'answer')
      if (row?.kind === 'answer') {
        if (row.id !== answer) {
          blocks = createMarkdownBlocks()
          told = 0
          // What was there before this page looked is not news.
          if (answer === undefined && !row.isOpen) told = Number.POSITIVE_INFINITY
          answer = row.id
        }
        const all = blocks.update(row.text)
        const done = row.isOpen ? all.length - 1 : all.length
        if (isNews && done > told) say(...all.slice(told, done))
        told = Math.max(told, done)
      }
      const waiting = end.flatMap((one) => (one.kind === 'call' && one.state === 'waiting' ? [one] : []))
      if (isNews) say(...waiting.filter(({ id }) => !waits.has(id)).map(({ name }) => `${name} waits for you`))
      waits = new Set(waiting.map(({ id }) => id))
    })
  }, [session])
  return (
    <div class="visually-hidden" role="log" aria-label="News of the conversation">
      {said.map((text, i) => (
        <p key={i}>{text}</p>
      ))}
    </div>
  )
}
