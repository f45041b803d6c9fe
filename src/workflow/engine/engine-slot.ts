import type { Engine } from './make-engine.ts'

/** The engine of an agent, made when it is first needed and let go of at rest. */
export class EngineSlot {
  readonly #make: () => Promise<Engine>
  #engine: Promise<Engine> | undefined

  constructor(make: () => Promise<Engine>) {
    this.#make = make
  }

  load(): Promise<Engine> {
    this.#engine ??= this.#make().catch((error) => {
      this.#engine = undefined // the next one tries again
      throw error
    })
    return this.#engine
  }

  /** The rules of the authority as they are now. */
  async retune(): Promise<void> {
    const engine = await this.#engine?.catch(() => undefined)
    engine?.retune()
  }

  /** Lets go of it and all it holds: servers, threads. */
  async rest(): Promise<void> {
    const engine = await this.#engine?.catch(() => undefined)
    this.#engine = undefined
    await engine?.agent.destroy()
    await engine?.authority.close()
  }
}
