import { useEffect } from 'preact/hooks'

interface Found {
  readonly words: string
  /** The key of the item with the hit in sight. */
  readonly key: string | undefined
}

/** Marks the words of a search in the rows that are in the document, and brings those of the current hit into sight. */
export function useFindMarks({ words, key }: Found): void {
  useEffect(() => {
    const wanted = words.trim().toLowerCase()
    const list = document.querySelector<HTMLElement>('.conversation')
    const { highlights } = CSS
    if (wanted === '' || !list || highlights === undefined) return
    let isAsked = false
    /** Once for each hit: later the person scrolls. */
    let isShown = false
    const mark = (): void => {
      isAsked = false
      const ranges = rangesOf(list, wanted)
      const here = ranges.filter((range) => itemKey(range) === key)
      highlights.set('find', new Highlight(...ranges))
      highlights.set('find-here', new Highlight(...here))
      if (isShown || here.length === 0) return
      isShown = true
      showRange(here[0]!, list)
    }
    const ask = (): void => {
      if (isAsked) return
      isAsked = true
      requestAnimationFrame(mark)
    }
    const changes = new MutationObserver(ask)
    changes.observe(list, { childList: true, subtree: true, characterData: true })
    ask()
    return () => {
      changes.disconnect()
      highlights.delete('find')
      highlights.delete('find-here')
    }
  }, [words, key])
}

function rangesOf(list: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = []
  const texts = document.createTreeWalker(list, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node && ranges.length < mostMarks; node = texts.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue!.length))
      ranges.push(range)
    }
  }
  return ranges
}

const mostMarks = 1000

const itemKey = ({ startContainer }: Range): string | undefined =>
  startContainer.parentElement?.closest<HTMLElement>('.slot')?.dataset.key

function showRange(range: Range, list: HTMLElement): void {
  const [place, view] = [range.getBoundingClientRect(), list.getBoundingClientRect()]
  if (place.top < view.top || place.bottom > view.bottom) list.scrollTop += place.top - view.top - view.height / 2
}
