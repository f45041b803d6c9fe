import type { ChatState } from '../../chat/chat.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { formatCost, formatCount } from '../rows/format.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'

interface StatusOptions {
  readonly paint: Paint
  readonly columns: number
  /** The home folder, to be shown as `~`. */
  readonly home: string | undefined
  readonly branch: string | undefined
  /** Which parts, in their order. */
  readonly parts?: readonly StatusPart[] | undefined
}

/** What the status line can show. */
export type StatusPart = 'mode' | 'model' | 'thinking' | 'folder' | 'branch' | 'context' | 'cost' | 'title'

const usualParts: readonly StatusPart[] = ['model', 'thinking', 'folder', 'context', 'cost']

/**
 * `ask · sonnet-5 · ~/shop (main) · context 12 % · $0.04, next about $0.01`. What is last is left out first. The mode is
 * always there, first unless it has another place, and `yolo` whatever its place is.
 */
export function statusLine(state: ChatState, options: StatusOptions): string {
  const { paint, columns, parts = usualParts } = options
  const { settings, warning } = state
  const isFirst = !parts.includes('mode') || settings.mode === 'yolo'
  const shown = isFirst ? ['mode' as const, ...parts.filter((part) => part !== 'mode')] : parts
  const warned =
    warning === undefined ? [] : [{ text: fullyVisible(warning), style: paint.yellow, mayBeCut: true as const }]
  const [first, ...rest] = shown.map((part) => partOf(part, state, options))
  return fitting([...(first ?? []), ...warned, ...rest.flat()], columns - 3, paint)
}

function partOf(
  part: StatusPart,
  state: ChatState,
  { paint, home, branch, parts = usualParts }: StatusOptions,
): Part[] {
  const { settings, view, sessionId } = state
  const dim = (text: string | undefined): Part[] =>
    text === undefined || text === '' ? [] : [{ text, style: paint.dim }]
  switch (part) {
    case 'mode':
      return settings.mode === undefined ? [] : [{ text: settings.mode, style: modeStyle(settings.mode, paint) }]
    case 'model':
      return dim(shortModel(settings.model.model))
    case 'thinking':
      return dim(settings.thinking && settings.thinking !== 'off' ? `thinking ${settings.thinking}` : undefined)
    case 'folder': {
      const at = branch && !parts.includes('branch') ? ` (${fullyVisible(branch)})` : ''
      return dim(settings.folder === undefined ? undefined : `${shortFolder(settings.folder, home)}${at}`)
    }
    case 'branch':
      return dim(branch && fullyVisible(branch))
    case 'context':
      return contextPart(state, paint)
    case 'cost':
      return costPart(state, paint)
    case 'title':
      return dim(fullyVisible(view.details.title ?? sessionId ?? ''))
  }
}

interface Part {
  readonly text: string
  readonly style: (text: string) => string
  /** Its beginning is worth showing where the whole has no room. */
  readonly mayBeCut?: true
}

function fitting(parts: readonly Part[], room: number, paint: Paint): string {
  const shown: string[] = []
  let left = room
  for (const { text, style, mayBeCut } of parts) {
    const separator = shown.length > 0 ? 3 : 0
    const wide = textWidth(text) + separator
    if (wide > left && shown.length > 0 && !(mayBeCut && left >= leastCut)) break
    shown.push(style(cutToWidth(text, left - separator)))
    left -= wide
  }
  return ` ${shown.join(paint.dim(own(' · ')))}`
}

const leastCut = 20

function modeStyle(mode: string, paint: Paint): Part['style'] {
  if (mode === 'yolo') return (text) => paint.inverse(paint.red(` ${text} `))
  return mode === 'plan' ? paint.blue : paint.dim
}

function contextPart({ view, settings }: ChatState, paint: Paint): Part[] {
  const { last } = view.usage
  const window = settings.model.contextWindow
  const used = last ? last.input + (last.cacheRead ?? 0) + (last.cacheCreation ?? 0) + last.output : 0
  if (used === 0) return [] // nothing was asked yet, or the service does not count
  if (!window) return [{ text: `context ${formatCount(used)} tokens`, style: paint.dim }]
  const share = Math.min(100, Math.round((100 * used) / window))
  return [{ text: `context ${share} %`, style: share >= 80 ? paint.yellow : paint.dim }]
}

function costPart({ view, forecast }: ChatState, paint: Paint): Part[] {
  const { cost } = view.usage
  const texts = [
    ...(cost === undefined ? [] : [formatCost(cost)]),
    ...(forecast ? [`next about ${formatCost(forecast.likely)}`] : []),
  ]
  return texts.length === 0 ? [] : [{ text: texts.join(', '), style: paint.dim }]
}

/** Without the date of the release: `claude-sonnet-5-20260901` is `claude-sonnet-5`. */
const shortModel = (model: string): string => fullyVisible(model.replace(/-20\d{6}$/, ''))

function shortFolder(folder: string, home: string | undefined): string {
  const isHome = home !== undefined && (folder === home || folder.startsWith(`${home}/`))
  return fullyVisible(isHome ? `~${folder.slice(home.length)}` : folder)
}
