import { callTitle } from '../../chat/call-title.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { ChildView } from '../../view/session-view.ts'
import type { Paint } from '../terminal/paint.ts'
import { textTail } from './phase-view.ts'

/** A live line for each sub-agent at work, with what it does. */
export function childLines(
  children: readonly ChildView[],
  { paint, cwd, spinner }: { readonly paint: Paint; readonly cwd: string; readonly spinner: string },
): string[] {
  return children.flatMap((child, i) => {
    if (child.isOver) return []
    const indent = '  '.repeat(Math.min(child.depth, 4))
    return [`${indent}${paint.cyan(spinner)} agent ${i + 1} ${paint.dim(activityOf(child, cwd))}`]
  })
}

/** Its last call, or the end of what it says. */
function activityOf({ view: { rows } }: ChildView, cwd: string): string {
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows.at(at)!
    if (row.kind === 'call') return `${visibleName(row.name)} ${callTitle(row.input, cwd)}`
    const said = row.kind === 'answer' && (row.text || row.thinking)
    if (said) return textTail(said.slice(-mostText))
  }
  return 'begins'
}

const mostText = 400
