import type { OutgoingMessage } from '../../chat/chat.ts'
import type { Completion } from '../../chat/command.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import type { Piece } from '../input/attachments.ts'
import { Editor } from '../input/editor.ts'
import type { Key } from '../input/key.ts'
import type { Paint } from '../terminal/paint.ts'
import type { Caret } from '../terminal/surface.ts'
import { cutToWidth, graphemesOf, textWidth } from '../terminal/text-width.ts'

/** What can complete the text before the caret: the items, and how many characters before the caret they replace. */
export interface Completions {
  readonly items: readonly Completion[]
  readonly length: number
}

/** Earlier messages of the person. */
export interface RecalledMessages {
  /** Newest first, those of this folder before others. */
  recent(): readonly string[]
  search(query: string): readonly string[]
}

interface ComposerOptions {
  readonly paint: Paint
  readonly complete?: (before: string) => Promise<Completions | undefined>
  readonly history: RecalledMessages
  /** Something changed outside of a key: completions came. */
  readonly onChange: () => void
}

export type Composer = ReturnType<typeof createComposer>

/** The input line: the editor with its completions, and earlier messages to go back to. */
export function createComposer({ paint, complete, history, onChange }: ComposerOptions) {
  const editor = new Editor()
  let menu: (Menu & Pick<Completions, 'length'> & { readonly before?: string }) | undefined
  /** The query of a search in earlier messages. */
  let search: string | undefined
  /** The place in the earlier messages, and the text that was there before. */
  let recalled: { readonly at: number; readonly list: readonly string[]; readonly draft: string } | undefined
  let asked = 0

  /** Asks for completions of the text as it is now; later answers to earlier texts are dropped. */
  async function refresh(): Promise<void> {
    const number = ++asked
    const { before, after } = editor.around
    // A command stands at the very beginning.
    const isFirstLine = editor.text.startsWith(before + after)
    const found = await complete?.(isFirstLine ? before : `\n${before}`).catch(() => undefined)
    if (number !== asked || search !== undefined) return
    const hadMenu = menu !== undefined
    menu = found && found.items.length > 0 ? { ...found, selected: 0, before } : undefined
    if (menu || hadMenu) onChange()
  }

  /** The menu may be about a text that has been changed since: its completions come later than keys. */
  const isCurrent = (): boolean => menu?.before === editor.around.before

  function accept(): void {
    if (menu && isCurrent()) editor.replaceBefore(menu.length, menu.items[menu.selected]!.text)
    closeMenu()
  }

  function closeMenu(): void {
    asked++
    menu = undefined
    search = undefined
  }

  function recall(by: 1 | -1): boolean {
    const list = recalled?.list ?? history.recent()
    const at = (recalled?.at ?? -1) - by
    if (at >= list.length || (at < -1 && !recalled)) return false
    const draft = recalled?.draft ?? editor.fullText
    if (at < 0) {
      recalled = undefined
      editor.set(draft)
      return true
    }
    recalled = { at, list, draft }
    editor.set(list[at]!)
    return true
  }

  function pressInMenu(key: Key): boolean {
    if (!menu) return false
    if (key.type === 'escape') closeMenu()
    else if (key.type === 'up' || (key.type === 'ctrl' && key.key === 'p'))
      menu = { ...menu, ...moveSelection(menu, -1) }
    else if (key.type === 'down' || (key.type === 'ctrl' && key.key === 'n'))
      menu = { ...menu, ...moveSelection(menu, 1) }
    else if (key.type === 'tab' && !key.shift) {
      accept()
      void refresh()
    } else return false
    return true
  }

  /** While searching, keys change the query. */
  function pressInSearch(key: Key): boolean {
    if (search === undefined) return false
    if (pressInMenu(key)) return true
    if (key.type === 'enter' || key.type === 'right') {
      const found = menu?.items[menu.selected]?.text
      if (found !== undefined) editor.set(found)
      closeMenu()
      return true
    }
    if (key.type === 'text') setQuery(search + key.text.replace(/\s+/g, ' '))
    else if (key.type === 'backspace') setQuery([...graphemesOf(search)].slice(0, -1).join(''))
    else if (key.type === 'ctrl' && key.key === 'r' && menu) menu = { ...menu, ...moveSelection(menu, 1) }
    else if (key.type === 'escape') closeMenu()
    else return false
    return true
  }

  function setQuery(query: string): void {
    search = query
    const items = history.search(query).map((text) => ({ text, label: text.replaceAll('\n', ' ⏎ ') }))
    menu = items.length > 0 ? { items, selected: 0, length: 0 } : undefined
  }

  return {
    editor,
    get isEmpty(): boolean {
      return editor.isEmpty
    },
    /** A menu or a search is open, which Esc closes. */
    get isOpen(): boolean {
      return menu !== undefined || search !== undefined
    },
    get isSearching(): boolean {
      return search !== undefined
    },
    /** Handles a key; returns false for one that means nothing here. */
    press(key: Key): boolean {
      if (pressInSearch(key) || pressInMenu(key)) return true
      if (key.type === 'up' && !key.shift && editor.isOnFirstRow && recall(-1)) return true
      if (key.type === 'down' && !key.shift && editor.isOnLastRow && recalled && recall(1)) return true
      const did = editor.press(key)
      if (did === 'edited') {
        recalled = undefined
        void refresh()
      } else if (did === 'moved') closeMenu()
      return did !== undefined
    },
    /** Accepts the selected completion of a menu. Returns true if Enter does no more than that. */
    acceptBeforeSending(): boolean {
      if (!menu || search !== undefined || !isCurrent()) return false
      const { text } = menu.items[menu.selected]!
      const isTyped = editor.around.before.slice(-menu.length) === text.trimEnd()
      accept()
      return !isTyped && (!text.startsWith('/') || text.endsWith(' '))
    },
    /** Opens the search in earlier messages. */
    search(): void {
      closeMenu()
      setQuery('')
    },
    close: closeMenu,
    /** Takes the message out of the editor. */
    take(): OutgoingMessage {
      const message = editor.message()
      closeMenu()
      recalled = undefined
      editor.reset()
      return message
    },
    set(text: string | readonly Piece[]): void {
      closeMenu()
      recalled = undefined
      editor.set(text)
      if (text === '/') void refresh()
    },
    /** The rows of the input with its menu, in at most `most` lines. */
    draw(columns: number, most: number): { readonly lines: readonly string[]; readonly caret: Caret } {
      const menuRoom = menu ? Math.min(8, Math.max(0, most - 1)) : 0
      const { rows, caret } = editor.layout(Math.max(4, columns - 4), Math.max(1, Math.min(12, most - menuRoom)))
      const prompt = search === undefined ? paint.cyan('›') : paint.yellow('?')
      const lines = rows.map((row, i) => ` ${i === 0 ? prompt : ' '} ${row}`)
      const query = search === undefined ? '' : visibleName(search)
      if (search !== undefined) lines.splice(0, lines.length, ` ${prompt} ${paint.dim('earlier messages:')} ${query}`)
      const place = search === undefined ? caret : { row: 0, column: textWidth(`earlier messages: ${query}`) }
      const below = menu ? menuLines(menu, { paint, columns, most: menuRoom }) : []
      return { lines: [...lines, ...below], caret: { row: place.row, column: place.column + 3 } }
    },
  }
}

/** A list below the input line, from which one item is selected. */
interface Menu {
  readonly items: readonly Completion[]
  readonly selected: number
}

/** The menu with another item selected; it begins again at its ends. */
function moveSelection(menu: Menu, by: 1 | -1): Menu {
  const { items, selected } = menu
  return { ...menu, selected: (selected + by + items.length) % items.length }
}

/** At most `most` lines, around the selected item, with its details beside the labels. */
function menuLines(menu: Menu, { paint, columns, most }: { paint: Paint; columns: number; most: number }): string[] {
  const { items, selected } = menu
  const count = Math.min(items.length, most)
  const from = Math.min(Math.max(0, selected - Math.floor(count / 2)), items.length - count)
  const shown = items.slice(from, from + count)
  const labels = shown.map(({ label, text }) => cutToWidth(fullyVisible(label ?? text), Math.max(8, columns - 6)))
  const wide = Math.min(Math.max(...labels.map(textWidth)), Math.floor(columns / 2))
  return shown.map(({ detail = '' }, i) => {
    const label = labels[i]!
    const gap = ' '.repeat(Math.max(0, wide - textWidth(label)) + 2)
    // Blanks at the end would be wrapped in a narrower window, and push live lines out of it.
    const beside = detail === '' ? '' : paint.dim(`${gap}${fullyVisible(detail)}`)
    const isSelected = from + i === selected
    const title = `${isSelected ? '▸' : ' '} ${label}`
    return ` ${isSelected ? paint.bold(paint.cyan(title)) : title}${beside}`
  })
}
