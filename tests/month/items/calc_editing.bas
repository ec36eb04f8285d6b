' Edits a decision sheet in LibreOffice Calc as a person would: sorts, types, formats, adds a column, filters.
' The input is in the file SOURCE.typed: one line per item, with its fields separated by tabs.
Sub EditSheet(source As String, target As String)
    On Error GoTo Failed
    Dim channel As Integer
    Dim page, book, wide, last, i, written, fields, title, at, items, code, key
    Dim hidden(0) As New com.sun.star.beans.PropertyValue
    hidden(0).Name = "Hidden"
    hidden(0).Value = True
    book = StarDesktop.loadComponentFromURL(ConvertToURL(source), "_blank", 0, hidden())
    page = book.Sheets.getByName("Open items")
    page.unprotect("")
    Dim cursor
    cursor = page.createCursor()
    cursor.gotoEndOfUsedArea(False)
    last = cursor.RangeAddress.EndRow
    wide = cursor.RangeAddress.EndColumn

    ' Sort by amount, the largest first.
    Dim keys(0) As New com.sun.star.table.TableSortField
    keys(0).Field = ColumnOf(page, "Amount", wide)
    keys(0).IsAscending = False
    Dim order(1) As New com.sun.star.beans.PropertyValue
    order(0).Name = "SortFields"
    order(0).Value = keys()
    order(1).Name = "ContainsHeader"
    order(1).Value = True
    page.getCellRangeByPosition(0, 0, wide, last).sort(order())

    ' Type the input into the row of its item.
    at = ColumnOf(page, "Item", wide)
    items = page.getCellRangeByPosition(at, 0, at, last).getDataArray()
    channel = FreeFile
    Open source & ".typed" For Input As #channel
    Do While Not Eof(channel)
        Line Input #channel, written
        fields = Split(written, Chr(9))
        For i = 1 To last
            If items(i)(0) = fields(0) Then
                page.getCellByPosition(ColumnOf(page, "Decision", wide), i).String = fields(1)
                page.getCellByPosition(ColumnOf(page, "Reason", wide), i).String = fields(2)
                page.getCellByPosition(ColumnOf(page, "Owner", wide), i).String = fields(3)
                page.getCellByPosition(ColumnOf(page, "Clear by", wide), i).FormulaLocal = fields(4)
                page.getCellByPosition(ColumnOf(page, "Proposed by", wide), i).String = fields(5)
                Exit For
            End If
        Next i
    Loop
    Close #channel

    ' Show amounts and days in other formats.
    Dim where As New com.sun.star.lang.Locale
    For Each title In Array("Amount", "Since", "Clear by")
        i = ColumnOf(page, title, wide)
        code = IIf(title = "Amount", "0.0E+00", "DD/MM/YY")
        key = book.NumberFormats.queryKey(code, where, False)
        If key = -1 Then key = book.NumberFormats.addNew(code, where)
        page.getCellRangeByPosition(i, 1, i, last).NumberFormat = key
    Next title

    ' Insert a column with a formula and a note.
    page.Columns.insertByIndex(2, 1)
    page.getCellByPosition(2, 0).String = "My notes"
    page.getCellByPosition(2, 1).Formula = "=SUM(F2:F9)"
    page.getCellByPosition(2, 2).String = "ask Bert"
    wide = wide + 1

    ' Filter the rows to one currency.
    Dim kept(0) As New com.sun.star.sheet.TableFilterField
    kept(0).Field = ColumnOf(page, "Currency", wide)
    kept(0).Operator = com.sun.star.sheet.FilterOperator.EQUAL
    kept(0).StringValue = "USDC"
    Dim descriptor
    descriptor = page.getCellRangeByPosition(0, 0, wide, last).createFilterDescriptor(True)
    descriptor.ContainsHeader = True
    descriptor.setFilterFields(kept())
    page.getCellRangeByPosition(0, 0, wide, last).filter(descriptor)

    Dim form(0) As New com.sun.star.beans.PropertyValue
    form(0).Name = "FilterName"
    form(0).Value = "Calc MS Excel 2007 XML"
    book.storeToURL(ConvertToURL(target), form())
    book.close(True)
    StarDesktop.terminate()
    Exit Sub
Failed:
    ' Write the error to a file, because a dialog would wait for a person.
    channel = FreeFile
    Open target & ".failed" For Output As #channel
    Print #channel, "line " & Erl & ": " & Error$
    Close #channel
    StarDesktop.terminate()
End Sub

Function ColumnOf(page, title, wide)
    Dim i
    For i = 0 To wide
        If page.getCellByPosition(i, 0).String = title Then
            ColumnOf = i
            Exit Function
        End If
    Next i
    Err.Raise(1001, "", "no column " & title)
End Function
