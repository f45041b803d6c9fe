import { useEffect, useRef } from 'preact/hooks'
import { Virtualizer, type VirtualizerHandle } from 'virtua'
import type { EntryFact } from './log-model.ts'

interface EntryListProps {
  readonly facts: readonly EntryFact[]
  readonly at: number
  readonly onChoose: (seq: number) => void
}

/** All entries that the filters leave, as a list that the arrow keys walk through. */
export function EntryList({ facts, at, onChoose }: EntryListProps) {
  const list = useRef<VirtualizerHandle>(null)
  const index = facts.findIndex(({ seq }) => seq >= at)
  useEffect(() => {
    if (index >= 0) list.current?.scrollToIndex(index, { align: 'nearest' })
  }, [index, facts.length === 0])
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = facts[Math.max(0, Math.min(facts.length - 1, index + step))]
    if (next) onChoose(next.seq)
  }
  const draw = ({ seq, type, words }: EntryFact, i: number) => (
    <div
      key={seq}
      id={`entry-${seq}`}
      class={`entry-row type-${type}`}
      role="option"
      tabIndex={-1}
      aria-selected={seq === at}
      aria-posinset={i + 1}
      aria-setsize={facts.length}
      onClick={() => onChoose(seq)}
      onKeyDown={move}
    >
      <span class="facts">{seq}</span>
      <span class="one-line">{words}</span>
    </div>
  )
  return (
    <div
      class="entry-list"
      role="listbox"
      tabIndex={0}
      aria-label="Entries"
      {...(index >= 0 && { 'aria-activedescendant': `entry-${facts[index]!.seq}` })}
      onKeyDown={move}
    >
      <Virtualizer ref={list} data={facts} itemSize={26}>
        {draw as never /* virtua names the elements of React, which these stand for */}
      </Virtualizer>
    </div>
  )
}
