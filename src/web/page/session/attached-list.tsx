import type { Cell } from '../model/model.ts'
import type { Attached } from './attached-files.ts'

export interface AttachedListProps {
  readonly files: Cell<readonly Attached[]>
}

/** What goes with the next message, above its field. */
export function AttachedList({ files }: AttachedListProps) {
  return (
    <ul class="attached" aria-label="Attached">
      {files.state.map((one, i) => (
        <li key={`${i} ${one.name}`}>
          <span class="one-line">{one.name}</span>
          <span class="facts">{one.facts}</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${one.name}`}
            onClick={() => files.set(files.state.filter((other) => other !== one))}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}
