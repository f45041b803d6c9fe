export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export type { ExecutionContext } from '../core/execution.ts'
export type { ChangedFile, FileDiff } from './changed-files.ts'
export type { SnapshotOptions } from './file-history.ts'
export type { LeftOut, RollbackConflict, RollbackPlan, RollbackResult, Snapshot, Work } from './file-snapshots.ts'
export { RollbackRefusedError } from './rollback-error.ts'
export type { ChangesOptions } from './session-files.ts'
export type {
  InterruptedRollback,
  RollbackOptions,
  SessionRollbackPlan,
  SessionRollbackResult,
} from './session-rollback.ts'
export { createSnapshots, type Snapshots, type SnapshotsOptions } from './snapshots.ts'
export type { RollbackScope } from './timeline.ts'
