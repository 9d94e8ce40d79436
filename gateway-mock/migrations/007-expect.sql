-- Ends the transaction, with an error of its own, where something is not as the sender thought it was.
CREATE FUNCTION holdfast.expect(holds boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF holds IS NOT TRUE THEN RAISE EXCEPTION 'not as expected; the transaction is done again' USING ERRCODE = 'HF001'; END IF;
END $$;
