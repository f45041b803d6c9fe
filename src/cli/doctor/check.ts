import type { Workspace } from '../assembly/workspace.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** Something on this machine that works or does not. */
export interface Check {
  readonly name: string
  /** Without it nothing works: it decides the exit code. */
  readonly isEssential?: true
  look(at: Patient): Promise<Finding>
}

/** What is looked at. */
export interface Patient {
  readonly io: Io
  /** Rejects where the settings cannot be used. */
  readonly workspace: Promise<Workspace>
  /** The settings, or none where they cannot be used: that is said once, by the check for them. */
  readonly config: Promise<Config>
  /** Aborts when the check takes too long. */
  readonly signal: AbortSignal
}

/** What a check found out. */
export interface Finding {
  readonly state: 'ok' | 'missing' | 'broken'
  /** What was found, without a full stop. */
  readonly says: string
  /** The exact command or step that mends it. */
  readonly mend?: string
}

/** It works. */
export const ok = (says: string): Finding => ({ state: 'ok', says })
/** It is not here, and something can be done without it. */
export const missing = (says: string, mend: string): Finding => ({ state: 'missing', says, mend })
/** It is here, or has to be, and does not work. */
export const broken = (says: string, mend: string): Finding => ({ state: 'broken', says, mend })
