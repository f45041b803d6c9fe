import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import type { ListedTool } from './list-tools.ts'

/** Tools in columns, for a terminal; what is wrong with one stands below it. */
export function toolTable(tools: readonly ListedTool[]): string[] {
  const rows = [
    ['tool', 'from', 'state', 'does'],
    ...tools.map(({ name, layer, state, effects }) => [visibleName(name), layer, state, doing(effects)]),
  ]
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.flatMap((row, i) => {
    const tool = tools[i - 1]
    return [
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
      ...(tool ? below(tool) : []),
    ]
  })
}

function doing(effects: ListedTool['effects']): string {
  if (effects === undefined) return 'unknown'
  return effects.map((effect) => words[effect] ?? visibleName(effect)).join(', ') || 'nothing outside'
}

const words: Readonly<Record<string, string>> = {
  'fs.read': 'reads files',
  'fs.write': 'writes files',
  exec: 'runs commands',
  net: 'uses the network',
  spawn: 'starts sub-agents',
  'schedule.write': 'changes schedules',
  ask: 'asks you',
}

function below({ path, shadows, diagnostic }: ListedTool): string[] {
  return [
    ...(path === undefined ? [] : [visibleName(path)]),
    ...(shadows ? [`in place of: ${shadows.join(', ')}`] : []),
    ...(diagnostic === undefined ? [] : [fullyVisible(diagnostic)]),
  ].map((line) => `    ${line}`)
}
