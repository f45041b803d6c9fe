import { h, type RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageKinds, type RendererKit, type WaitingForPerson } from '../libero.ts'
import { renderers } from '../parts/renderers.tsx'
import { usePending } from './pending-card.tsx'
import { useAnswering } from './use-answering.ts'
import { useArmed } from './use-armed.ts'

/** Adds the renderers of an embedder's module, and rejects while it cannot be loaded. Without them the page draws everything itself. */
export async function addRenderers(address: string): Promise<void> {
  const { ok, status } = await fetch(address) // an import does not tell a server that is away from a broken module
  if (!ok) throw new Error(`The renderers of this page cannot be loaded: status ${status}`)
  try {
    const module = (await import(/* @vite-ignore */ address)) as { readonly default: (kit: RendererKit) => void }
    module.default(kit)
  } catch (error) {
    console.error('libero: the renderers of this page cannot be used:', error)
  }
}

const kit: RendererKit = {
  h: h as RendererKit['h'],
  register: (renderer) => renderers.register(renderer as Parameters<typeof renderers.register>[0]),
  ...{ messageKinds, useState, useEffect, useRef, useWaiting },
}

function useWaiting(ref: { current: unknown }): WaitingForPerson {
  const { call, onSeen } = usePending()
  const isArmed = useArmed(ref as RefObject<Element>)
  const [answering, send] = useAnswering(call)
  useEffect(() => onSeen?.(call, isArmed), [isArmed])
  const isActive = isArmed && answering.state === 'open'
  return {
    ...{ call, isActive, words: answering.state === 'open' ? answering.problem : answering.words },
    answer: (answer) => void (isActive && send(answer, 'Answered.')),
  }
}
