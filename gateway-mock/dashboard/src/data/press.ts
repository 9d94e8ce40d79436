/** Buttons that change something: what a press asks for is under way once, however often they are pressed. */
import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useRef, useState } from "preact/hooks";

export interface PressProps {
  readonly onClick: (event: TargetedMouseEvent<HTMLButtonElement>) => void;
  readonly onKeyDown: (event: TargetedKeyboardEvent<HTMLButtonElement>) => void;
  /** It keeps the focus, which one that is disabled loses. */
  readonly "aria-disabled": boolean;
}

/** Gives a button what it does; of all that share it only one is under way. */
export type Press = (action: () => Promise<void>) => PressProps;

export function usePress(): Press {
  const isUnderWay = useRef(false);
  const [isShown, setShown] = useState(false);
  const begin = async (action: () => Promise<void>): Promise<void> => {
    isUnderWay.current = true;
    setShown(true);
    try {
      await action();
    } finally {
      isUnderWay.current = false;
      setShown(false);
    }
  };
  return (action) => ({
    onClick: (event) => {
      // The second click of a double click comes after an answer that is quick.
      if (isUnderWay.current || event.detail > 1) return;
      void begin(action);
    },
    onKeyDown: (event) => {
      // A key that is held down presses again and again.
      if (event.repeat) event.preventDefault();
    },
    "aria-disabled": isShown,
  });
}
