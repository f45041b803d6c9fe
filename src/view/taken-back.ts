import type { AnswerRow, CallResultView, CallRow, MessageRow, Row } from './rows.ts'
import type { SessionView } from './session-view.ts'

type TurnRow = MessageRow | AnswerRow | CallRow

/**
 * The rows that rewinds removed, by turn. An undo logs the turns again, but not what became of their calls, nor how their
 * messages were sent. They are kept until a turn comes that is not one of them: then there is no undo.
 */
export type TakenBack = ReadonlyMap<string, readonly TurnRow[]>

/** The view that remembers these rows, which a rewind removes. */
export function takeBack(view: SessionView, removed: readonly Row[]): SessionView {
  const byTurn = new Map<string, TurnRow[]>()
  for (const row of removed)
    if (row.kind === 'message' || row.kind === 'answer' || row.kind === 'call')
      byTurn.set(turnOf(row), [...(byTurn.get(turnOf(row)) ?? []), row])
  return { ...view, fold: { ...view.fold, takenBack: new Map([...(view.fold.takenBack ?? []), ...byTurn]) } }
}

const turnOf = (row: TurnRow): string => (row.kind === 'answer' ? row.id : row.turnId)

/** The view when a turn comes: one that was not taken back ends what is remembered. */
export function forgetUnlessBack(view: SessionView, turnId: string): SessionView {
  const { takenBack, ...fold } = view.fold
  return !takenBack || takenBack.has(turnId) ? view : { ...view, fold }
}

/** The rows of one kind that a turn had when it was taken back. */
export function rowsBefore<Kind extends TurnRow['kind']>(
  { fold }: SessionView,
  turnId: string,
  kind: Kind,
): readonly Extract<TurnRow, { kind: Kind }>[] {
  const rows = fold.takenBack?.get(turnId) ?? []
  return rows.filter((row): row is Extract<TurnRow, { kind: Kind }> => row.kind === kind)
}

/** The result that an open call had when its turn was taken back. */
export function resultBefore(view: SessionView, callId: string): CallResultView | undefined {
  const at = view.fold.open.get(callId)
  const row = at === undefined ? undefined : view.rows.at(at)
  if (row?.kind !== 'call') return undefined
  return rowsBefore(view, row.turnId, 'call').find(({ id }) => id === callId)?.result
}
